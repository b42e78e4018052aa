// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/lock/view.h"
#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::zookeeper {

/// One lock, in a session of its own, so that ending the session removes all nodes of the lock, whatever goes wrong,
/// but a lease (standing_leases.h). Each renewal is a sync, which the leader answers only while the session lives.
/// Single-threaded.
class ZookeeperLock final : public LockDriver, private Acquirer {
 public:
  ZookeeperLock(Ensemble ensemble, LockSpec spec, std::string directory, std::vector<QueueDirectory> queues,
                const Runtime& runtime);
  ~ZookeeperLock() override;

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override;
  Renewal held(TimePoint now) override;
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  static constexpr Duration kLookBudget = std::chrono::seconds(1);  ///< to find out who holds it

  enum class Tried { kHolds, kFree, kBusy };

  Attempt attempt(TimePoint until, Control& control) override;
  bool wait(std::optional<TimePoint> until, Control& control) override;
  Result<LockState> describe(Control& control) override;
  void withdraw() override;

  Result<Tried> try_once(Control& control);
  bool may_begin_anew(const Error& error, TimePoint until);
  Result<Tried> pass_queues(Control& control);
  Result<QueueTurn> pass(ContenderStore& contender, Control& control);
  Result<bool> remove_over(const ContenderStore& contender, const QueueTurn& turn, Control& control);
  bool is_next_soon(TimePoint until, Control& control);
  Result<Tried> see_whether_free(Control& control);
  Result<void> connect(Control& control);
  Result<bool> watch(Control& control);
  bool is_woken();
  bool wait_in_session(const std::function<bool()>& is_ready, std::optional<TimePoint> until, Control& control);

  Result<Granted> granted(Control& control);
  std::string warning() const;
  Error disagreement() const;
  bool is_in_queue() const;
  void release_gates();
  TimePoint asked_by();
  Duration timeout_to_ask() const;
  TimePoint believed() const;
  Result<void> keep(ContenderStore::Kept how, HolderRecord data, TimePoint until);
  HolderRecord lease_of(Duration ttl) const;
  std::optional<Renewal> keep_by_session(TimePoint until);
  void watch_again(Duration later);
  bool has_news() const;
  std::optional<TimePoint> asks_anew_at() const;
  bool is_watched() const;
  bool is_to_be_read(TimePoint now) const;
  Renewal judge_watched();
  void forget_read();
  RenewalLost lost_by_deletion() const;
  Result<void> remove_node(TimePoint until);

  Ensemble ensemble_;
  const LockSpec spec_;
  const std::string directory_;
  const std::vector<QueueDirectory> queues_;
  const Runtime runtime_;
  std::unique_ptr<Calls> calls_;
  std::vector<ContenderStore> contenders_;
  std::string slot_;                       ///< of a permit
  std::string held_;                       ///< the node that is watched while the lock is held; "": none
  std::optional<std::uint64_t> watching_;  ///< a read with a watch that is under way
  int watched_by_ = 0;                     ///< the connection (Calls::connections) on which held_ is watched; 0: none
  TimePoint sent_{};
  TimePoint previously_sent_{};
  Acquisition acquisition_;
  int unanswered_ = 0;      ///< attempts without an answer
  std::size_t passed_ = 0;  ///< of queues_; the last one is held
  ServerClock clock_;
  QueueTurn turn_;  ///< of queues_[passed_]: what is waited for
  /// The node that is waited for where that is not a contender's before ours: the last one's, by who takes nothing
  /// (`dlock wait`); the key's own, if that is another session's.
  std::string waited_for_;
  std::int32_t waited_version_ = 0;      ///< of its data, as they were read
  std::optional<TimePoint> lease_over_;  ///< when a lease that is waited for is to be looked at
  std::optional<TimePoint> watch_at_;
  std::optional<TimePoint> asked_anew_;  ///< since when there was no connection when that was done
  TimePoint looked_at_{};                ///< when our node was read last
  TimePoint kept_since_{};               ///< of a hold that is kept as a lease: before its node was made
};

}  // namespace dlock::zookeeper
