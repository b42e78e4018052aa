// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/stock/stock_session.h"
#include "lib/stock/segment_locks.h"

namespace dlock::zookeeper {

class SegmentLock;
class StockTree;
struct Errand;

/// The locks of segments. They are ordinary locks under the keys stock:NAME:SEGMENT, but share the session of the
/// stock, so that none is opened for each. The transaction that reserves takes a free lock, and the one that sells or
/// cancels releases it. It writes the unchanged data of the lock's directory, too, at the version at which that was
/// empty: of two at once, one fails. Single-threaded.
class SegmentSessionLocks final : public SegmentLocks {
 public:
  /// Both outlive it.
  SegmentSessionLocks(StockSession& session, StockTree& tree) : session_(session), tree_(tree) {}

  void work_for(const LockSpec& spec) override { spec_ = spec; }
  Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration ttl,
                                         const CallLimit& limit) override;
  std::unique_ptr<LockDriver> open(int segment, const LockSpec& spec) override;

  /// The changes that release the held locks (all of one request), to be added to a transaction of the stock.
  std::vector<Change> removals() const;
  /// That transaction has been carried out.
  void released();

 private:
  friend class SegmentLock;
  /// Result of a try to lock a segment.
  struct Chosen {
    bool unsure = false;                       ///< an earlier try may have done it
    std::optional<int> segment = {};           ///< nullopt: no segment alone has enough, or there is an answer
    std::optional<StockAnswer> answer = {};    ///< of the request
    std::optional<QueueDirectory> stage = {};  ///< of the lock, which was free and is taken
  };
  struct Wish {
    const StockRequest& request;
    int start;
    const Owner* owner;  ///< to reserve for; null: only the lock is wanted
    Duration ttl;
    const CallLimit& limit;
  };
  Result<Chosen> choose(const Wish& wish);
  Result<Chosen> choose_among_all(const Wish& wish);
  Result<Chosen> take(const Wish& wish, int segment);
  Result<QueueDirectory> stage_at(const LockName& key) const;
  Result<QueueDirectory> stage_of(const LockName& stock, int segment) const;
  Result<void> undo(const Wish& wish);
  LockSpec spec_of(const LockName& stock, int segment, Duration ttl) const;

  StockSession& session_;
  StockTree& tree_;
  std::optional<LockSpec> spec_;
  std::vector<SegmentLock*> locks_;  ///< those that are held
};

}  // namespace dlock::zookeeper
