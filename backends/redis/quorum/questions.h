// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/redis/deployment/names.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/backend_url.h"
#include "lib/lock/fencing_token.h"

namespace dlock::redis {

/// With which commands a lock that is one key is changed.
enum class QuorumKind {
  kString,   ///< Redis: SET, PEXPIRE, DEL
  kTairCas,  ///< Tair, a string: SET NX, CAS, CAD
  kTairEx,   ///< Tair, a versioned string: EXSET NX ABS, EXCAS, EXCAD
};

/// The kind that the URL names: redlock://, or tair:// with ?mode=cas or ?mode=ex.
QuorumKind quorum_kind(const BackendUrl& url);

/// What one server is asked about a lock that is one key, whose value is the owner's text: one request, one script.
/// Beside it lie the counter of its tokens, which never expires, and the record of its holder (record.h), both
/// where the native layout has them and written as it does. Never KEEPTTL, never without a TTL, never VER (a missing
/// key ignores it).
struct QuorumQuestion {
  NativeNames names;
  QuorumKind kind = QuorumKind::kString;
  std::string owner;
  std::string entry;  ///< this acquisition: its owner's own text
  std::string info;   ///< who_text()
  Duration ttl{0};
  bool introduce = false;  ///< the first question on a connection: says also which process answers, and since when
};

/// Takes the lock if it is free or ours already. Draws max(counter + 1, server time in us); with `now`, our wall clock,
/// that one held to within a second of the server's: so servers whose clocks agree draw the same number.
Command take_command(const QuorumQuestion& question, std::optional<WallTime> now);
/// The same for a lock that we hold elsewhere by a majority: does not draw, raises the counter to `token`. Stays free
/// where a force-release has left its mark for the owner (HSET forced OWNER, before it takes the lock away): else those
/// who hold it together could take the votes back one by one.
Command retake_command(const QuorumQuestion& question, FencingToken token);
/// Makes the lease ttl long, if it is ours, and enters it; shorter only if nobody else has entered, or without an
/// `entry`. Raises the counter to `token` (0: not). A ttl of 0 ends it.
Command keep_command(const QuorumQuestion& question, FencingToken token);
/// Takes `entry` out ("": all), if it is ours; with the last one deletes the lock. Raises the counter to `token` (0:
/// not).
Command give_command(const QuorumQuestion& question, FencingToken token);
/// Changes nothing.
Command read_command(const QuorumQuestion& question);

/// One server's answer to any of them.
struct Ballot {
  enum class State { kOurs, kFree, kOthers, kOtherKind, kStartedLately, kFailed };
  State state = State::kFailed;
  std::chrono::microseconds server_time{0};
  std::optional<Duration> remaining;  ///< of the lease; nullopt: no key, or no end
  std::string holder;                 ///< whose it is (was, before it was given back)
  std::string record;                 ///< about the holder; empty: another program's lock
  std::uint64_t counter = 0;          ///< of the tokens
  std::string run_id;                 ///< of the server's process, if introduced and allowed
  std::int64_t uptime = -1;           ///< seconds, likewise
  Error error;                        ///< with kFailed
};

Ballot parse_ballot(const Reply& reply);

}  // namespace dlock::redis
