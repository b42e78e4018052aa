// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/redis/quorum/questions.h"
#include "backends/redis/quorum/rules.h"
#include "backends/redis/quorum/server_group.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// Rounds of questions to the servers about one lock, in which each server has one vote; after a round, ballots() has
/// their answers. A single server (Tair) is a majority of one. `group` outlives it. Single-threaded.
class QuorumRounds {
 public:
  QuorumRounds(ServerGroup& group, LockName name, std::string store_name);

  using Count = Tally (*)(std::span<const Vote> votes);
  /// Asks server i `questions[i]` (empty: does not ask it) and counts the votes by `count`; after the tally is
  /// certain it waits up to `grace` for the other answers.
  Tally ask(const std::vector<Command>& questions, TimePoint until, Control* control, Count count,
            Duration grace = Duration(0));
  Tally ask_all(const Command& question, TimePoint until, Control* control, Count count, Duration grace = Duration(0));

  /// The round of which `answers` are those to several questions: the one at `which` is about this lock, and moves
  /// here.
  Tally take(ServerGroup::Answers& answers, std::size_t which, Count count);

  const std::vector<Ballot>& ballots() const { return ballots_; }
  const std::vector<Vote>& votes() const { return votes_; }
  const ServerGroup::Answers& answers() const { return answers_; }

  /// Discards the vote of `server` after the round, and counts again.
  Tally drop(std::size_t server, std::string why, Count count);

  /// The lock by the ballots of the round: each holder that a server has named, with the data that most of these
  /// servers have of it. `only_majorities`: without holders that cannot have a majority.
  LockState state(WallTime now, bool only_majorities) const;

  /// The error for too few answers, with each server's reason.
  Error silence() const;
  /// For people: the reason of each server whose vote is not ours (kAll), or does not count (kSilent).
  enum class Reasons { kAll, kSilent };
  std::string reasons(Reasons of = Reasons::kAll) const;

 private:
  /// "3 servers asked, 1 answers".
  std::string answers_text() const;
  void begin();
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

/// Won as soon as a majority has answered, whatever the answers.
Tally count_answers(std::span<const Vote> votes);
/// The same, but not before all servers have answered or failed.
Tally count_to_the_end(std::span<const Vote> votes);

/// One lock of redlock:// or tair://, for its keeper. Unsupported: shared, permits, fair, lock-delay; later also a
/// tair:// server that is not a Tair.
Result<std::unique_ptr<LockDriver>> keep_quorum_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime);

/// For redlock:// and tair://. Misconfigured for a URL that names a server twice.
Result<std::unique_ptr<LockAdmin>> make_quorum_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
