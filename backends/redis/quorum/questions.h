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

/// The commands by which a lock that is one key is changed.
enum class QuorumKind {
  kString,  ///< Redis: SET, PEXPIRE, DEL
  kTair,    ///< Tair, a versioned string: EXSET NX ABS, EXCAS, EXCAD
};

/// The kind that the URL names: redlock:// or tair://.
QuorumKind quorum_kind(const BackendUrl& url);

/// A question to one server about a lock that is one key, whose value is the owner's text: one request, one script. The
/// counter of its tokens, which never expires, and the record of its holder (companions.h) lie where the native layout
/// has them, in the same form. The scripts never use KEEPTTL, a key without a TTL, or VER (which a missing key
/// ignores).
struct QuorumQuestion {
  NativeNames names;
  QuorumKind kind = QuorumKind::kString;
  std::string owner;
  std::string entry;  ///< this acquisition, by the text of its own owner
  std::string info;   ///< who_text()
  Duration ttl{0};
  bool introduce = false;  ///< for the first question on a connection: the answer has run_id and uptime, too
};

/// Takes the lock if it is free or ours already. Draws max(counter + 1, server time in us); with `now`, our wall clock,
/// that one held to within a second of the server's: so servers whose clocks agree draw the same number.
Command take_command(const QuorumQuestion& question, std::optional<WallTime> now);
/// Takes the key of a lock that we hold by a majority of other keys: draws no token, but raises the counter to
/// `token`. Does not take it where somebody else's release has left its mark for the owner (HSET forced OWNER, written
/// before it frees the lock): otherwise the holder could take its votes back one by one.
Command retake_command(const QuorumQuestion& question, FencingToken token);
/// If the key is ours: adds `entry`, and makes the lease `ttl` long, but shortens it only if no other entry is inside
/// or `entry` is empty. Raises the counter to `token` (0: does not). A `ttl` of 0 ends the lease.
/// With `tell`, the record gets `info` for what it had.
Command keep_command(const QuorumQuestion& question, FencingToken token, bool tell = false);
/// If the key is ours: removes `entry` ("": all), and deletes the key with the last one. Raises the counter to `token`
/// (0: does not). With `marks`, for who is not its holder, it leaves that mark (RedLock) with `info`, whether the key
/// is ours or not, if it may and there is memory.
Command release_command(const QuorumQuestion& question, FencingToken token, bool marks = false);
/// If the key is ours: adds `info`, the author of a revocation, to the record, unless it has one, and tells the holder
/// to look.
Command revoke_command(const QuorumQuestion& question);
/// Reads the state of the key; changes nothing.
Command read_command(const QuorumQuestion& question);

/// One server's answer to any of these commands.
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
