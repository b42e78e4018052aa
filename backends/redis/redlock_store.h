// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/redlock_scripts.h"
#include "backends/redis/server_group.h"
#include "backends/redis/votes.h"
#include "lib/base/runtime.h"
#include "lib/keeper/polled_lock.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// How long one round waits for a server: min(ttl / 6, 500 ms), at least 50 ms.
Duration round_limit(Duration ttl);

/// What the servers say about one lock, each with one vote. The rounds of RedLock, one method each; what a round came
/// to is in ballots().
class RedlockPoll {
 public:
  RedlockPoll(ServerGroup& group, LockName name, std::string store_name);

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

  /// The holders that the servers named; those that cannot have a majority are left out if asked.
  LockState state(WallTime now, bool only_majorities) const;

  /// Too few answers: each server with its reason.
  Error silence() const;
  /// Why each vote that is not ours is not.
  std::string reasons() const;

 private:
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

/// A lock on N independent servers, taken by a majority of them.
class RedlockStore final : public PolledStore {
 public:
  RedlockStore(std::vector<ConnectionSettings> servers, const LockSpec& spec, std::string store_name,
               const Runtime& runtime);

  Attempt take(Control& control) override;
  std::optional<Taken> join(const HeldClaim& claim, Control& control) override;
  Renewal renew(Control* control, TimePoint until) override;
  Result<void> give_back(TimePoint until) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(Duration ttl, TimePoint until) override;
  Result<LockState> look(TimePoint until, Control* control) override;

 private:
  struct Server {
    int introduced = 0;  ///< connection on which it has said who it is
    std::string run_id;
    bool ours = false;                  ///< by its last answer
    std::optional<ClockReading> clock;  ///< at its last answer
  };

  RedlockQuestion question(std::size_t server) const;
  void note_servers();
  std::optional<Error> same_server_twice() const;
  Attempt won(TimePoint sent, Control& control);
  Attempt not_won(Outcome outcome);
  bool agree_on_token(Control& control);
  Outcome check_clocks();
  std::vector<Command> renewals() const;
  void tell_back();

  ServerGroup group_;
  const LockSpec spec_;
  const std::string store_name_;
  const Runtime runtime_;
  RedlockPoll poll_;
  std::string owner_;
  bool joined_ = false;
  bool asked_back_ = false;  ///< a release has gone out before
  FencingToken token_;
  TimePoint deadline_{};
  std::vector<Server> servers_;
};

}  // namespace dlock::redis
