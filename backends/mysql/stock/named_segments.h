// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/stock/stock_deduction.h"
#include "lib/base/clock.h"
#include "lib/stock/segment_locks.h"

namespace dlock::mysql {

/// Locks of segments as named locks of the connection that also makes the reservations: one statement finds and takes a
/// free segment, and waiters stand in the server's own queue. The server frees them when that connection ends, or has
/// been silent for a ttl. The reservation guards the stock, not these locks. Single-threaded.
class NamedSegments final : public SegmentLocks {
 public:
  /// The stock whose segments are locked, as it was looked up last.
  struct StockKey {
    std::string id;  ///< of its row
    int segments = 1;
  };
  /// nullopt: there is no such stock.
  using Find = std::function<Result<std::optional<StockKey>>(const LockName& stock, const CallLimit& limit)>;
  /// Waits for the lock `first` and reserves, in one batch; the result is that of SegmentLocks::reserve_at_once().
  using Reserve = std::function<Result<std::optional<StockAnswer>>(
      const StockRequest& request, const Owner& owner, Duration ttl, LockFirst first, const CallLimit& limit)>;

  /// `servers` and `clock` outlive it and its locks.
  NamedSegments(Servers& servers, Clock& clock, std::string store, Find find, Reserve reserve)
      : servers_(servers),
        clock_(clock),
        store_(std::move(store)),
        find_(std::move(find)),
        reserve_(std::move(reserve)) {}

  Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration ttl,
                                         const CallLimit& limit) override;
  std::unique_ptr<LockDriver> open(int segment, const LockSpec& spec) override;
  Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner, Duration ttl,
                                                     int segment, TimePoint until, const CallLimit& limit) override;
  std::unique_ptr<LockDriver> held() override;

  /// Whether locks are held.
  bool hold() const { return held_ != 0 && held_ == servers_.generation(); }
  /// The statement that frees them, for a caller that sends it together with others and then calls released().
  static const char* release_statement() { return "DO RELEASE_ALL_LOCKS()"; }
  void released() { held_ = 0; }

  /// The server has no named locks (a Galera cluster).
  bool refused() const { return refused_; }

 private:
  friend class NamedSegment;
  /// Sends `batch` on a connection that the server ends only after a silence of `ttl`. Errors as of error_of(); after
  /// Unavailable no lock is held.
  Result<Answer> ask(const std::string& batch, Duration ttl, TimePoint until, Control* control);

  Servers& servers_;
  Clock& clock_;
  const std::string store_;
  const Find find_;
  const Reserve reserve_;
  StockKey stock_;
  int held_ = 0;  ///< the connection that holds locks; 0: none
  int told_ = 0;  ///< the connection that has its limit for silence
  Duration told_ttl_{0};
  bool refused_ = false;
};

}  // namespace dlock::mysql
