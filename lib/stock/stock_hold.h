// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/patience.h"
#include "lib/stock/stock.h"

namespace dlock {

/// Part of a stock, kept by a keeper for as long as a command runs: reserved, renewed, and at the end sold if the
/// command ended with status 0, else given back. With spec.stock->lock_segment the reservation holds the locks of its
/// segments as well: a segment by chance, another one when that is short or locked.
class StockHold final : public LockDriver {
 public:
  /// REQUIRES: spec.stock.
  StockHold(std::shared_ptr<Stock> stock, const LockSpec& spec, const Runtime& runtime);

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override;
  Renewal renew(Control& control, TimePoint until) override;
  void command_ended(int wait_status) override { sold_ = wait_status == 0; }
  Result<void> release(TimePoint until) override;
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint until) override { return release(until); }

 private:
  Result<StockAnswer> reserve(int start, const CallLimit& limit);
  void answer_who(Control& control, const CallLimit& limit);
  TimePoint behind_the_wait(Duration budget) const;
  void give_back(TimePoint until);

  std::shared_ptr<Stock> stock_;
  const LockSpec spec_;
  const Patience patience_;
  const Runtime runtime_;
  const StockRequest request_;
  TimePoint sent_{};      ///< before the reservation that is believed in was asked for
  bool unknown_ = false;  ///< an attempt may have set something aside that is not the hold's
  bool sold_ = false;
};

}  // namespace dlock
