// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "backends/redis/wire/reply.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// Probable content of a key that this layout does not understand.
struct Family {
  std::string note;  ///< for people: which program's lock, and which layout to name in the URL; or what it is instead
  bool is_lock = false;  ///< of a known kind
};

/// `type`: of the key; `sign`: of a string its value, of a hash the value of its field "mode" or else the name of its
/// first field; `ends`: it has a time to live. Pure.
Family family_of(std::string_view type, std::string_view sign, bool ends);

/// Makes `participant` what stands for such a key: its note, and of data that is not a lock the standing.
void show_family(Participant& participant, std::string_view type, std::string_view sign, bool ends);

/// Exact data at the key in the place of a lock; empty: `shown` has only locks.
std::string data_to_drop(const LockState& shown);
/// Deletes it if it is still there: the script answers {freed}, or {conflict}.
Command drop_command(const std::string& key, const std::string& data);

/// Whether `field` names an owner as Redisson does: "UUID:threadId", or "UUID:UUID" (node-redisson), each also with
/// ":write" after it.
bool is_redisson_owner(std::string_view field);

}  // namespace dlock::redis
