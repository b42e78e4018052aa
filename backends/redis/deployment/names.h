// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// A cluster's slots are 0 .. kSlots - 1.
inline constexpr std::uint16_t kSlots = 16384;

/// The part of `key` that decides its slot: what stands between its first { and the next }, or all of it if that is
/// nothing.
std::string_view hash_tag(std::string_view key);

/// The slot of `key` in a cluster. Total: every byte string has one.
std::uint16_t key_slot(std::string_view key);

/// The keys of a lock on the server (README.md): its own key is the name itself, byte for byte, so that other clients
/// exclude us and we them; the others, its companions, are in the same slot. The key of a slot of --once is a companion
/// of its lock, too, where no other lock can be. No two names share a key.
struct NativeNames {
  std::string key;      ///< string: the owner, or a marker while readers or permit holders are in
  std::string fence;    ///< string: the last fencing token
  std::string holders;  ///< hash: owner -> record
  std::string until;    ///< zset: owner -> end of lease, server ms; of readers and permit holders
  std::string queue;    ///< zset: waiter -> arrival, server us
  std::string waiting;  ///< hash: waiter -> record
  std::string wake;     ///< the channel of a waiter, to which the waiter's name is appended
  std::string forced;  ///< hash, of RedLock: owner -> who has freed its lock by force, and why, or nothing; for an hour
  std::string fenced;  ///< string, of RedLock: the highest token that was shown (dlock fence)
};

/// Unsupported for a name that could be that of a companion.
Result<NativeNames> native_names(const LockName& name);

/// The name of the lock (or slot of --once) whose companion `key` is; nullopt if it is none with this `suffix`
/// ("holders").
std::optional<std::string> name_of_companion(std::string_view key, std::string_view suffix);

}  // namespace dlock::redis
