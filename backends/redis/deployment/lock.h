// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/deployment/layout.h"
#include "backends/redis/deployment/wake_channel.h"
#include "lib/base/runtime.h"
#include "lib/keeper/acquisition.h"
#include "lib/keeper/lock_driver.h"

namespace dlock::redis {

inline constexpr Duration kFirstPollPause =
    std::chrono::milliseconds(10);  ///< between the first two attempts of a waiter that polls
inline constexpr Duration kLookBudget = std::chrono::seconds(1);      ///< to find out who holds the lock
inline constexpr Duration kWithdrawBudget = std::chrono::seconds(1);  ///< to take back what may have been created

/// The part of a lock that is the same for every layout on one deployment: repeats questions until an answer is known,
/// renews, hears of changes of the lock's key while it is held, and releases. The layout says how the lock is taken and
/// waited for. Single-threaded.
class LayoutLock : public LockDriver, protected Acquirer {
 public:
  std::optional<std::variant<Granted, Refused>> acquire(Control& control) final;
  Renewal renew(Control& control, TimePoint until) final;
  void add_interest(std::vector<pollfd>& fds) const final;
  std::optional<TimePoint> wake_at() const final { return watch_at_ ? watch_at_ : wake_.wake_at(); }
  Renewal held(TimePoint now) final;
  Result<void> release(TimePoint until) final;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) final;

 protected:
  /// `store` names it for people.
  LayoutLock(std::unique_ptr<Deployment> deployment, std::string store, LockSpec spec, const Runtime& runtime);

  // --- what a layout says ---

  virtual Layout& layout() = 0;
  /// The connection that the lock was asked for on, or nullptr.
  virtual Connection* connection() const = 0;
  /// Channels of a waiter, or a holder; is_sharded(): to messages within the slot, too.
  virtual std::string wake_channel() const = 0;
  virtual bool is_sharded() const { return false; }
  virtual bool has_own_channel() const = 0;  ///< which no other holder listens to
  /// When a waiter that was not notified looks by itself; nullopt: at once.
  virtual std::optional<TimePoint> next_look(Control& control) = 0;
  /// Returns whether the lock is ours now; of an exclusive one the server then reports the next change of the key.
  /// nullopt: it cannot be said, or the server cannot report changes.
  virtual std::optional<bool> is_still_ours(TimePoint until) = 0;
  virtual const char* taken_away() const = 0;  ///< "it was deleted on "

  // --- for the layout ---

  /// One line, with -v; with -vv what the server has answered.
  void trace_busy(int place, bool queued);

  /// Makes one attempt by `acquire(limit)`, which asks the store, and notes its outcome. After a lost answer the next
  /// attempt has the same owner, and so learns what this one has got.
  template <typename Ask>
  auto ask(TimePoint until, const Ask& acquire) {
    const Patience& patience = acquisition_.patience();
    deployment_->insist(!patience.is_once());
    auto answer = acquire(attempt_limit(until));
    deployment_->insist(true);
    if (!answer && deployment_->was_refused()) return answer;
    asked_ = true;
    denied_ =
        !answer && (answer.error().code == ErrorCode::kDenied || answer.error().code == ErrorCode::kMisconfigured);
    unknown_ =
        !answer && (answer.error().code == ErrorCode::kUnavailable || answer.error().code == ErrorCode::kCancelled);
    return answer;
  }
  /// The error of an attempt, marked if a server has answered it.
  Error failed(Error error);
  /// When to give up one attempt: a server that hangs does not get all the time until `until`, because another one may
  /// have taken its place.
  TimePoint attempt_limit(TimePoint until) const;
  /// Of a question about the lock while it is waited for, or after the wait; and of giving up.
  TimePoint look_end() const { return acquisition_.patience().look_end(runtime_.clock.now(), kLookBudget); }
  TimePoint withdraw_end() const { return acquisition_.patience().withdraw_end(runtime_.clock.now(), kWithdrawBudget); }
  Granted grant(FencingToken token, std::string slot);

  std::unique_ptr<Deployment> deployment_;
  const Runtime runtime_;
  const LockSpec spec_;
  const std::string store_name_;
  WakeChannel wake_;
  Acquisition acquisition_;
  WallTime since_{};                   ///< when acquire() began
  Control* control_ = nullptr;         ///< of acquire(); everything that is done while the lock is held polls it
  bool enqueue_ = false;               ///< the next attempt takes a place in the queue
  bool told_ = false;                  ///< of a waiter: its channel works
  bool asked_ = false;                 ///< an attempt was made, and not refused: something of ours may be in the store
  bool unknown_ = false;               ///< the last attempt has an unknown outcome
  bool denied_ = false;                ///< the last attempt was refused; it may have taken effect nevertheless
  Duration pause_{0};                  ///< between the attempts of a waiter that polls; grows
  std::string revoked_ = {};           ///< of a holder: who asks for the lock back, as is_still_ours() has read it
  std::optional<TimePoint> watch_at_;  ///< of a holder: when it begins to listen

 private:
  bool wait(std::optional<TimePoint> until, Control& control) final;
  /// To the server that answers now: of a cluster only the node of the slot has what is published within it.
  bool listen(TimePoint until, Control* control);
  Duration look_budget() const;

  TimePoint leased_at_{};  ///< when the lease that the store has confirmed began, or before
  int watched_ = 0;        ///< Connection::opened() of the first connection, by which the server knows what to report
  Deafness deafness_;
};

}  // namespace dlock::redis
