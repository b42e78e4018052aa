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

/// The locks of segments, as everybody else takes them under the keys stock:NAME:SEGMENT, in the session of the stock:
/// none is made and ended for each. One that is free is taken by the transaction that reserves, and given back by the
/// one that sells or cancels.
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
  /// Always in two steps: a lock is waited for in its queue.
  Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner, Duration ttl,
                                                     int segment, TimePoint until, const CallLimit& limit) override;
  std::unique_ptr<LockDriver> held() override { return nullptr; }

  /// What frees the locks that are held, which are those of one request: for a transaction of the stock. released(): it
  /// is done.
  std::vector<Change> removals() const;
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
