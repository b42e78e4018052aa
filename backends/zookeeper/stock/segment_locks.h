// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/zookeeper/stock/stock_call.h"
#include "lib/stock/segment_locks.h"

namespace dlock::zookeeper {

class SegmentLock;

/// The locks of segments. They are ordinary locks under the keys stock:NAME:SEGMENT, but share the session of the
/// stock, so that none is opened for each. The transaction that reserves takes a free lock, and the one that sells or
/// cancels releases it. Single-threaded.
class SegmentSessionLocks final : public SegmentLocks {
 public:
  using OpenCall = std::function<StockCall(const LockName& stock, const CallLimit& limit)>;

  /// `session` and `stock`, whose calls `open_call` opens, outlive it.
  SegmentSessionLocks(StockSession& session, Stock& stock, OpenCall open_call)
      : session_(session), stock_(stock), open_call_(std::move(open_call)) {}

  void work_for(const LockSpec& spec) override { spec_ = spec; }
  Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration ttl,
                                         const CallLimit& limit) override;
  std::unique_ptr<LockDriver> open(int segment, const LockSpec& spec) override;
  /// Always nullopt: first the lock, which is waited for in its queue, then the reservation.
  Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner, Duration ttl,
                                                     int segment, TimePoint until, const CallLimit& limit) override;
  std::unique_ptr<LockDriver> held() override { return nullptr; }

  /// The changes that release the held locks (all of one request), to be added to a transaction of the stock.
  std::vector<Change> removals() const;
  /// That transaction has been carried out.
  void released();

 private:
  friend class SegmentLock;
  LockSpec spec_of(const LockName& stock, int segment, Duration ttl) const;

  StockSession& session_;
  Stock& stock_;
  const OpenCall open_call_;
  std::optional<LockSpec> spec_;
  std::vector<SegmentLock*> locks_;  ///< those that are held
};

}  // namespace dlock::zookeeper
