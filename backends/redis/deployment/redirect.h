// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// Why a server has not carried out a command, and so what to do with it.
enum class Refusal {
  kNone,       ///< it was carried out, or refused for good: the reply is the answer
  kMoved,      ///< another node has the slot from now on
  kAsk,        ///< another node has the key this time
  kLater,      ///< to be sent to the same server a little later: TRYAGAIN, BUSY
  kElsewhere,  ///< this server is not in charge, or not yet: READONLY, LOADING, MASTERDOWN, CLUSTERDOWN
};

Refusal refusal_of(const Reply& reply);

/// Whether a server refuses a command, also one inside a script, for the reason `word` ("OOM", "MISCONF").
bool is_refused_for(const Reply& reply, const std::string& word);

/// Whether `reply` is that of a replica, which takes no writes.
bool is_read_only(const Reply& reply);

/// Whether a server does not have a command (by this name), also one inside a script.
bool is_unknown_command(const Reply& reply);

/// The outcome of a pipeline.
struct PipelineOutcome {
  enum class Kind {
    kAnswered,  ///< no server refused anything
    kRefused,   ///< nothing of it was done: all of it may be sent again
    kPartly,    ///< some of it was done and some of it was refused: it may not be sent again
  };
  Kind kind = Kind::kAnswered;
  Refusal refusal = Refusal::kNone;  ///< the first one
  std::size_t at = 0;                ///< the index of its reply
};

/// REQUIRES: as many replies as commands. Commands without an effect (WAIT, MULTI, PING, ...) never count as done, nor
/// do those between a MULTI and an EXEC that was aborted.
PipelineOutcome judge(const std::vector<Command>& commands, const std::vector<Reply>& replies);

/// Where a MOVED or an ASK points.
struct Redirect {
  std::uint16_t slot = 0;
  Endpoint to;
};

/// The target of "MOVED 16287 10.0.0.1:6379" or "ASK ..."; a missing host is that of `asked`. nullopt if the
/// text has another form or the server does not know the name of the host ("?").
std::optional<Redirect> parse_redirect(const Reply& reply, const Endpoint& asked);

/// `commands` with an ASKING before each one that needs it (an ASKING counts for one command, or for a whole MULTI),
/// and for each reply to come, whether it belongs to one of `commands`.
std::pair<std::vector<Command>, std::vector<bool>> with_asking(const std::vector<Command>& commands);

/// The slots `first` to `last`, both included, and their master.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  Endpoint master;
};

/// The answer to CLUSTER SLOTS, sorted. Misconfigured if the server is not in a cluster, Denied if the user may not
/// ask, Unavailable for any other error or an answer that is not one.
Result<std::vector<SlotRange>> parse_cluster_slots(const Reply& reply, const Endpoint& asked);

/// The answer to SENTINEL GET-MASTER-ADDR-BY-NAME; nullopt: it knows no master of that name. Misconfigured if `asked`
/// is not a sentinel, Denied if the user may not ask, Unavailable otherwise.
Result<std::optional<Endpoint>> parse_master_address(const Reply& reply, const Endpoint& asked);

/// The answers to ROLE and PING of what should be a master. Unavailable if it is none (yet) or is loading; Denied if
/// the user may not ask.
Result<void> check_master(const Reply& role, const Reply& ping, const Endpoint& asked);

/// The answer of one sentinel: the master's address, nullopt if it knows no such master, or why it did not answer.
struct SentinelVote {
  Endpoint sentinel;
  Result<std::optional<Endpoint>> answer;
};

/// The address that more than half of `configured` sentinels name; nullopt if there is none.
std::optional<Endpoint> elected(const std::vector<SentinelVote>& votes, std::size_t configured);

/// Why elected() has found none, with the reason of each sentinel. Unavailable if that may pass by itself;
/// Misconfigured or Denied if so many know no such master, or refuse to say, that the others cannot be a majority.
Error not_elected(const std::vector<SentinelVote>& votes, std::size_t configured, const std::string& master);

/// Which master has which slot of a cluster, as far as is known.
class SlotMap {
 public:
  bool empty() const { return ranges_.empty() && moved_.empty(); }
  /// The master of `slot`; nullptr: not known.
  const Endpoint* owner(std::uint16_t slot) const;
  /// Every master once, in the order of the slots.
  std::vector<Endpoint> masters() const;

  /// Replaces all that is known by `ranges`. REQUIRES: they are sorted.
  void assign(std::vector<SlotRange> ranges);
  /// A MOVED has said that `to` is the master of `slot` now.
  void move(std::uint16_t slot, Endpoint to);

 private:
  std::vector<SlotRange> ranges_;
  std::map<std::uint16_t, Endpoint> moved_;  ///< by move() since the last assign(); goes before ranges_
};

}  // namespace dlock::redis
