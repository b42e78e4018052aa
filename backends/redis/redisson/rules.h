// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/deployment/names.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/backend_url.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/owner.h"

namespace dlock::redis {

/// Redisson's objects, as ?kind= names them.
enum class RedissonKind { kLock, kFenced, kFair, kReadWrite };

/// kLock if the URL names none.
RedissonKind redisson_kind(const BackendUrl& url);
/// "lock", "fenced", "fair", "rw".
const char* kind_word(RedissonKind kind);

/// The keys of Redisson's object of this name, byte for byte, and those that dlock keeps beside it.
struct RedissonNames {
  NativeNames beside;  ///< companions that Redisson never reads; its key is the object's
  std::string stem;    ///< the prefix of Redisson's own keys for a holder: "{name}"
  std::string channel;
  std::vector<std::string> others;  ///< further keys of this kind, in the order of its scripts
  bool sharded = false;             ///< on a cluster: messages are published within the slot, too (SPUBLISH)
};

/// Unsupported for names that are kept for dlock itself and, on a cluster, for names whose keys Redisson's rule puts
/// into several slots.
Result<RedissonNames> redisson_names(RedissonKind kind, const LockName& name, bool cluster);

/// The field by which Redisson knows a holder: "UUID:1", where the UUID has the digits of `owner`.
std::string redisson_field(const Owner& owner);
/// The owner of a field that redisson_field() has made; nullopt: it is that of a Redisson client.
std::optional<Owner> owner_of_field(std::string_view field);

/// Unsupported, naming the option, if Redisson's object of this kind cannot do what `spec` asks. Pure.
Result<void> check_fits(RedissonKind kind, const LockSpec& spec);

/// Unsupported for every kind without fencing tokens, that is all but RFencedLock.
Result<void> check_has_tokens(RedissonKind kind);

/// How long a dlock in the queue of a fair lock may be silent; then it is passed over. Redisson adds as much to each
/// place.
inline constexpr Duration kFairWait = std::chrono::seconds(5);

/// Arguments of this kind's release script after FIELD, for `entry` ("": all of a hold). Pure.
std::vector<std::string> release_arguments(RedissonKind kind, std::string entry);

}  // namespace dlock::redis
