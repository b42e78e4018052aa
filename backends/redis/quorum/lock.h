// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/quorum/store.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/keeper/polled_lock.h"
#include "lib/lock/lock_spec.h"

namespace dlock::redis {

/// A lock that is one key on each of N independent servers, and held if a majority of the keys is ours: RedLock; with
/// one server: Tair. Single-threaded.
class QuorumLock final : public PollableLock {
 public:
  QuorumLock(std::vector<ConnectionSettings> servers, QuorumKind kind, NativeNames names, const LockSpec& spec,
             std::string store_name, const Runtime& runtime);

  Attempt take(Control& control) override;
  Renewal renew(Control* control, TimePoint until) override;
  Result<void> give_back(TimePoint until) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;
  Result<LockState> read_state(TimePoint until, Control* control) override;
  void add_interest(std::vector<pollfd>& fds) const override { group_.add_interest(fds); }
  std::optional<std::string> ended() override { return group_.ended(); }

 private:
  struct Server {
    int introduced = 0;  ///< the connection (ServerGroup::connection) on which it gave its run_id; 0: none
    std::string run_id;
    bool ours = false;                  ///< its key is ours, by its last answer
    std::optional<ClockReading> clock;  ///< at its last answer
  };

  QuorumQuestion question() const;
  QuorumQuestion question_to(std::size_t server) const;
  TimePoint round_end() const;
  void note_servers();
  std::optional<Error> same_server_twice() const;
  Attempt won(TimePoint sent, Control& control);
  Attempt not_won(Outcome outcome);
  bool agree_on_token(Control& control);
  Outcome check_clocks();
  std::vector<Command> renewals() const;
  void tell_back();
  std::string revoked() const;
  std::string why_lost(Control* control, TimePoint until);
  Result<void> confirmed(Outcome outcome) const;

  ServerGroup group_;
  const QuorumKind kind_;
  const NativeNames names_;
  const LockSpec spec_;
  const std::string info_;
  const std::string store_name_;
  const Runtime runtime_;
  QuorumStore round_;
  std::string owner_;
  bool asked_back_ = false;  ///< a release has gone out before
  FencingToken token_;
  TimePoint deadline_{};
  std::vector<Server> servers_;
};

/// One lock of redlock:// or tair://, for its keeper. Unsupported: shared, permits, fair, lock-delay; later also a
/// tair:// server that is not a Tair.
Result<std::unique_ptr<LockDriver>> keep_quorum_lock(const BackendUrl& url, const LockSpec& spec,
                                                     const Runtime& runtime);

}  // namespace dlock::redis
