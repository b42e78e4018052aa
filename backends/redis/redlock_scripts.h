// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "backends/redis/reply.h"
#include "backends/redis/votes.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"

namespace dlock::redis {

/// What one server of a RedLock is asked: one request, one script. Two keys: the lock itself, whose value is the
/// owner's text, and "dlock:{KEY}:fence", the counter of its tokens, which never expires.
struct RedlockQuestion {
  LockName name;
  std::string owner;
  Duration ttl{0};
  bool introduce = false;  ///< the first question on a connection: says also which process answers, and since when
};

/// Takes the lock if it is free or ours already. Draws max(counter + 1, `now`), where `now` is our wall clock, held to
/// within a second of the server's: so servers whose clocks agree draw the same number.
Command take_command(const RedlockQuestion& question, WallTime now);
/// The same for a lock that we hold elsewhere by a majority: does not draw, raises the counter to `token`.
Command retake_command(const RedlockQuestion& question, FencingToken token);
/// Makes the lease ttl long, if it is ours; with `grow_only` never shorter. Raises the counter to `token` (0: not).
Command keep_command(const RedlockQuestion& question, FencingToken token, bool grow_only);
/// Deletes the lock if it is ours. Raises the counter to `token` (0: not).
Command give_command(const RedlockQuestion& question, FencingToken token);
/// Changes nothing.
Command look_command(const RedlockQuestion& question);

/// One server's answer to any of them.
struct Ballot {
  enum class State { kOurs, kFree, kOthers, kOtherKind, kStartedLately, kFailed };
  State state = State::kFailed;
  std::chrono::microseconds server_time{0};
  std::optional<Duration> remaining;  ///< of the lease; nullopt: no key, or no end
  std::string holder;                 ///< whose it is (was, before it was given back)
  std::uint64_t counter = 0;          ///< of the tokens
  std::string run_id;                 ///< of the server's process, if introduced and allowed
  std::int64_t uptime = -1;           ///< seconds, likewise
  Error error;                        ///< with kFailed
};

Ballot parse_ballot(const Reply& reply);

/// What an error reply of a server means to us: Denied, Unavailable (it may pass), Misconfigured.
Error reply_error(const Reply& reply);

}  // namespace dlock::redis
