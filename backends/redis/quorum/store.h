// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/redis/quorum/questions.h"
#include "backends/redis/quorum/rules.h"
#include "backends/redis/quorum/server_group.h"
#include "lib/lock/holder.h"

namespace dlock::redis {

/// What the servers say about one lock, each with one vote. The rounds of RedLock, one method each; what a round came
/// to is in ballots(). One server alone (Tair) is a majority of one.
class QuorumStore {
 public:
  QuorumStore(ServerGroup& group, LockName name, std::string store_name);

  using Count = Outcome (*)(std::span<const Vote> votes);
  /// Asks each server its question (an empty one: not at all) and counts.
  Outcome ask(const std::vector<Command>& questions, TimePoint until, Control* control, Count count,
              Duration grace = Duration(0));
  Outcome ask_all(const Command& question, TimePoint until, Control* control, Count count,
                  Duration grace = Duration(0));

  const std::vector<Ballot>& ballots() const { return ballots_; }
  const std::vector<Vote>& votes() const { return votes_; }
  const ServerGroup::Answers& answers() const { return answers_; }

  /// Takes a vote back after the round: it must not count.
  Outcome drop(std::size_t server, std::string why, Count count);

  /// The holders that the servers named, each as most of its servers know it; those that cannot have a majority are
  /// left out if asked.
  LockState state(WallTime now, bool only_majorities) const;

  /// Too few answers: each server with its reason.
  Error silence() const;
  /// Why each vote that is not ours is not; or only why those that do not count do not.
  enum class Reasons { kAll, kSilent };
  std::string reasons(Reasons of = Reasons::kAll) const;

 private:
  /// "3 servers asked, 1 answers".
  std::string answers_text() const;
  void read();
  std::string reason(std::size_t server) const;

  ServerGroup& group_;
  const LockName name_;
  const std::string store_name_;
  ServerGroup::Answers answers_;
  std::vector<Ballot> ballots_;
  std::vector<Vote> votes_;
  std::vector<std::string> dropped_;
};

/// Any answer will do, from a majority.
Outcome count_answers(std::span<const Vote> votes);
/// The same, and all that answer are waited for.
Outcome count_to_the_end(std::span<const Vote> votes);

}  // namespace dlock::redis
