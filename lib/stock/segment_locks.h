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

/// The locks of segments, where the client of a stock can hold them by itself: cheaper than a lock for everybody, and
/// gone with its connection. Everybody who locks segments in the store takes these. Single-threaded, as its Stock,
/// which outlives them.
class SegmentLocks {
 public:
  /// A segment that has enough, and its lock: held; nullptr: somebody else has it, and the next step is to queue there.
  struct Choice {
    int segment;
    std::unique_ptr<LockDriver> lock;
    std::optional<StockAnswer> answer = {};  ///< the reservation was decided by the same step
  };

  virtual ~SegmentLocks() = default;

  /// For whose command they are held from now on: as others are shown it, and where reserving under a lock is no step
  /// more, lock_one() does that as well for the owner of `spec`.
  virtual void work_for(const LockSpec& /*spec*/) {}

  /// Locks the first segment from `start` on that has the quantity of `request` and is not locked, for a lease of
  /// `ttl`. nullopt: no segment alone has enough, or the store turns out to have no such locks.
  virtual Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration ttl,
                                                 const CallLimit& limit) = 0;

  /// The lock of `segment`, to be acquired as `spec` says. REQUIRES: lock_one() has been asked for this stock.
  virtual std::unique_ptr<LockDriver> open(int segment, const LockSpec& spec) = 0;

  /// In one step: the lock of `segment`, waited for until `until`, and the reservation there; held() is that lock.
  /// InProgress: the lock was not to be had. nullopt: do it in two steps.
  virtual Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner,
                                                             Duration ttl, int segment, TimePoint until,
                                                             const CallLimit& limit) = 0;
  virtual std::unique_ptr<LockDriver> held() = 0;
};

}  // namespace dlock
