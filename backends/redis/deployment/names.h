// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// Where a lock lies on the server (README.md): the key is the name itself, byte for byte, so that other clients meet
/// us there; the companions are in its slot. One to one: no two names share a key.
struct NativeNames {
  std::string key;      ///< string: the owner, or a marker while readers or permit holders are in
  std::string fence;    ///< string: the last fencing token
  std::string holders;  ///< hash: owner -> record
  std::string until;    ///< zset: owner -> end of lease, server ms; of readers and permit holders
  std::string queue;    ///< zset: waiter -> arrival, server us
  std::string waiting;  ///< hash: waiter -> record
  std::string wake;     ///< channel of a waiter, less the waiter
  std::string forced;   ///< hash: owner -> who has freed it by force, and why; for an hour
  std::string fenced;   ///< string: the highest token that was shown for this resource (dlock fence)
};

/// Unsupported for names that begin as the companions do.
Result<NativeNames> native_names(const LockName& name);

/// The name of the lock whose companion `key` is; nullopt if it is none with this `suffix` ("holders").
std::optional<std::string> name_of_companion(std::string_view key, std::string_view suffix);

}  // namespace dlock::redis
