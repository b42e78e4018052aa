// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/entries.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/lock/view.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::zookeeper {

/// One lock, in a session of its own: whatever goes wrong, dropping the session takes all its nodes away. Each renewal
/// is a sync, which the leader answers only while the session lives.
class ZookeeperLock final : public LockDriver {
 public:
  ZookeeperLock(Ensemble ensemble, LockSpec spec, std::string directory, std::vector<Stage> stages,
                const Runtime& runtime);
  ~ZookeeperLock() override;

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override { return watch_at_; }
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(Duration ttl, TimePoint until) override;
  bool is_still_entered() const override { return entered_; }

 private:
  static constexpr Duration kLookBudget = std::chrono::seconds(1);  ///< for a look at who holds it

  enum class Outcome { kHolds, kFree, kBusy, kStopped };
  enum class Woken { kLook, kTimeOver, kStopped };

  Result<Outcome> attempt(Control& control);
  Result<Outcome> pass_stages(Control& control);
  Result<Outcome> pass(ContenderStore& contender, Control& control);
  Result<Outcome> wait_until_free(Control& control);
  Result<bool> join_ancestor(Control& control);
  Result<void> connect(Control& control);
  template <typename IsWoken>
  Result<Woken> wait(Control& control, IsWoken is_woken);
  bool pause(Duration length, Control& control);
  void answer_who(Control& control);

  std::optional<std::variant<Granted, Refused>> answer_of(Result<Outcome> outcome, Control& control);
  Result<Granted> granted(Control& control);
  std::string warning() const;
  Refused busy(Control& control);
  Refused refuse(Error error);
  void leave_queue();
  void outlast_first_touches();
  void leave_gates();
  bool worth_another_try(const Error& error);
  bool may_wait() const;
  void trace(std::string step);
  Duration patience() const;
  TimePoint asked_by() const;
  TimePoint believed() const;
  bool is_ours(const Answer& node) const;
  Renewal judge_watched();
  Renewal look_after_entries(TimePoint now);
  Result<void> release_entered(TimePoint until);
  Result<bool> enter(const Present& outer, Control& control);
  Hold hold() const;

  Ensemble ensemble_;
  const LockSpec spec_;
  const std::string directory_;
  const std::vector<Stage> stages_;
  const Runtime runtime_;
  std::unique_ptr<Calls> calls_;
  std::vector<ContenderStore> contenders_;
  std::optional<Present> joined_;  ///< the ancestor's hold that we are in
  std::string entry_;              ///< our node in it
  bool entered_ = false;           ///< released, and kept for those that have entered it
  std::vector<std::string> held_;  ///< the nodes that are watched while it is held
  std::vector<std::uint64_t> watching_;
  TimePoint sent_{};
  TimePoint previously_sent_{};
  int attempts_ = 0;
  int unreached_ = 0;  ///< attempts without an answer
  TimePoint reach_by_{};
  std::string traced_;   ///< the last step that was told
  bool queued_ = false;  ///< has been told that it waits
  std::optional<TimePoint> watch_at_;
  TimePoint began_{};          ///< when the session was asked for
  Duration made_for_{0};       ///< the timeout that it was made with
  UniqueFd lease_file_;        ///< of a lease that was left, while the session is in our hands
  bool keep_session_ = false;  ///< what is left of it must not go before its time
};

}  // namespace dlock::zookeeper
