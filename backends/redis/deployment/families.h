// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dlock::redis {

/// For people: which program's lock seems to be at a key that this layout does not understand, and which layout to name
/// in the URL. `type`: of the key; `sign`: of a string its value, of a hash the value of its field "mode" or else the
/// name of its first field. Pure.
std::string family_note(std::string_view type, std::string_view sign);

/// Whether `field` names an owner as Redisson does: "UUID:threadId", or "UUID:UUID" (node-redisson), each also with
/// ":write" behind it.
bool is_redisson_owner(std::string_view field);

/// Whether `value` is a count, as Redisson's semaphores keep it.
bool is_count(std::string_view value);

}  // namespace dlock::redis
