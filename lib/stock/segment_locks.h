// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_spec.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The key of a segment's lock, in every store that has no others for it: "stock:NAME:SEGMENT"; Unsupported if that is
/// too long.
Result<LockName> segment_key(const LockName& stock, int segment);

/// The locks of segments in a store where the client of a stock holds them itself: cheaper than ordinary locks, and
/// freed with its connection. All clients that lock segments in this store take these. Single-threaded, as its Stock,
/// which outlives it.
class SegmentLocks {
 public:
  /// A segment that has enough, and its lock, which is held; nullptr: another client has it, so queue for it (open()).
  struct Choice {
    int segment;
    std::unique_ptr<LockDriver> lock;
    std::optional<StockAnswer> answer = {};  ///< of the reservation, if the same step has made it
    Granted lease = {};                      ///< of the lock; it names none
  };

  virtual ~SegmentLocks() = default;

  /// The locks will be held for the command of `spec`, as which they are shown to others. In a store where that costs
  /// no further step, lock_one() then also reserves for the owner of `spec`.
  virtual void work_for(const LockSpec& /*spec*/) {}

  /// Locks the first segment from `start` on that has the quantity of `request` and is not locked, for a lease of
  /// `ttl`. nullopt: no segment alone has enough, or the store turns out to have no such locks.
  virtual Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration ttl,
                                                 const CallLimit& limit) = 0;

  /// The lock of `segment`, to be acquired as `spec` says. REQUIRES: lock_one() has been asked for this stock.
  virtual std::unique_ptr<LockDriver> open(int segment, const LockSpec& spec) = 0;

  /// In one step waits for the lock of `segment` until `until`, and reserves there; held() then returns that lock.
  /// StockInProgress: the lock did not become free. nullopt: this store cannot; use open() and Stock::reserve().
  virtual Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& /*request*/, const Owner& /*owner*/,
                                                             Duration /*ttl*/, int /*segment*/, TimePoint /*until*/,
                                                             const CallLimit& /*limit*/) {
    return std::optional<StockAnswer>();
  }
  virtual std::unique_ptr<LockDriver> held() { return nullptr; }
};

}  // namespace dlock
