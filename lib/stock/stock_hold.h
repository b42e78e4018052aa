// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/patience.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The key of a segment's lock: "stock:NAME:SEGMENT"; Unsupported if that is too long.
Result<LockName> segment_key(const LockName& stock, int segment);

/// Opens a lock of the store that keeps the stock.
using OpenSegmentLock = std::function<Result<std::unique_ptr<LockDriver>>(const LockSpec&)>;

/// Part of a stock, kept by a keeper for as long as a command runs: reserved, renewed, and at the end sold if the
/// command ended with status 0, else given back. With spec.stock->lock_segment the lock of its segment is held as well
/// ("stock:NAME:SEGMENT"): a segment by chance, the next one at once when it is short or locked by another; a
/// quantity that no segment has alone takes the locks of all of them, in their order.
class StockHold final : public LockDriver {
 public:
  /// REQUIRES: spec.stock. `open_lock` is needed for lock_segment only.
  StockHold(std::shared_ptr<Stock> stock, const LockSpec& spec, OpenSegmentLock open_lock, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void add_interest(std::vector<pollfd>& fds) const override;
  std::optional<TimePoint> wake_at() const override;
  Renewal held(TimePoint now) override;
  void command_ended(int wait_status) override { sold_ = wait_status == 0; }
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& spec, TimePoint until) override;

 private:
  /// The lock of a segment, which is ours until then; without, until it says otherwise.
  struct Locked {
    std::unique_ptr<LockDriver> lock;
    std::optional<TimePoint> deadline;
  };

  Result<StockAnswer> attempt(Control& control, int start, const CallLimit& limit);
  Result<StockAnswer> reserve(const StockRequest& request, int start, const CallLimit& limit);
  Result<StockAnswer> reserve_locked(Control& control, int start, const CallLimit& limit);
  Result<StockAnswer> reserve_in_queue(Control& control, int segment, const CallLimit& limit);
  Result<StockAnswer> reserve_in(Control& control, int segment, std::optional<TimePoint> until, const CallLimit& limit);
  Result<StockAnswer> reserve_under(int segment, const CallLimit& limit);
  Result<StockAnswer> reserve_several(Control& control, const StockState& state, const CallLimit& limit);
  /// Whether it is locked now, as the last of locks_.
  Result<bool> lock(Control& control, int segment, std::optional<TimePoint> until);
  Result<bool> lock_next(Control& control, int segment, const CallLimit& limit);
  void took(std::unique_ptr<LockDriver> lock, const Granted& granted);
  std::optional<TimePoint> renewal_due() const;
  bool keep_locks(Control& control, const CallLimit& limit);
  bool is_unlocked(const Result<StockAnswer>& answer);
  bool is_elsewhere(const Result<StockAnswer>& answer, int segment);
  StockAnswer locked_out();
  TimePoint behind_the_wait(Duration budget) const;
  void unlock();
  void unlock(TimePoint until);
  void give_back(TimePoint until);

  std::shared_ptr<Stock> stock_;
  const LockSpec spec_;
  const Patience patience_;
  const OpenSegmentLock open_lock_;
  const Runtime runtime_;
  const StockRequest request_;
  Duration lock_pass_;
  TimePoint sent_{};  ///< before the reservation that is believed in was asked for
  std::vector<Locked> locks_;
  Duration lease_{0};        ///< as in Granted: how long locks_ are held after each renewal
  bool unknown_ = false;     ///< an attempt may have set something aside that is not the hold's
  bool locked_out_ = false;  ///< the last attempt did not get a lock: the request is still open
  bool sold_ = false;
};

}  // namespace dlock
