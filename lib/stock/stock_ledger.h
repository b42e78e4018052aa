// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"
#include "lib/stock/request_record.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The rows of all stocks of a store that has transactions: begin(), find(), the rest, then commit() or rollback().
/// Knows how they lie there; what is to be done with them is decided by LedgerStock. The first failure sticks until the
/// transaction ends: until then nothing more happens, reads are empty, and commit() returns the error. Reads lock, or
/// the end of the transaction finds out whether what was read still holds. Single-threaded.
class StockLedger {
 public:
  /// Other work in the same stock during the transaction.
  enum class Access {
    kShared,  ///< everything of the same kind; segments and requests are locked as they are read
    kAlone,   ///< nothing
    kMake     ///< the stock may not be there yet
  };

  virtual ~StockLedger() = default;

  /// The redacted URL.
  virtual const std::string& store() const = 0;

  virtual Result<void> begin(Access access, const CallLimit& limit) = 0;
  /// The failure of anything since begin(); then nothing of it has happened, unless it is Unavailable: not known.
  virtual Result<void> commit() = 0;
  virtual void rollback() = 0;
  /// Ends it without a change. An Error if what was read cannot be relied on.
  virtual Result<void> conclude() {
    rollback();
    return {};
  }
  virtual bool failed() const = 0;
  /// The transaction that ended last failed because of another one, changed nothing, and may be run again.
  virtual bool is_worth_repeating() const { return false; }
  /// How often this call has lost a race for a segment: a take goes on by so many segments.
  virtual int lost_races() const { return 0; }
  /// How many of the first `steps` one transaction can serve.
  virtual std::size_t together(std::span<const StockStep> steps) const { return steps.size(); }

  /// Makes `name` the stock that the other calls mean. False if there is none.
  virtual bool find(const LockName& name) = 0;
  virtual const std::string& maker() const = 0;
  virtual int segments() const = 0;
  /// In canonical order; needs no find().
  virtual std::vector<LockName> names() = 0;
  virtual void create(const LockName& name, Quantity quantity, int segments, const Owner& maker) = 0;
  virtual void drop() = 0;

  /// Quantities of each segment. Misconfigured if a segment is missing. available(), reserved(): the sums of that look.
  virtual Result<std::vector<Quantity>> quantities() = 0;
  virtual Quantity available() const = 0;
  virtual Quantity reserved() const = 0;
  /// Quantities of `segment`, where that costs less to read than quantities(); nullopt: it does not.
  virtual Result<std::optional<Quantity>> quantity(int /*segment*/) { return std::optional<Quantity>(); }
  /// All items that there ever were: created and added. REQUIRES: quantities().
  virtual Quantity put_in() const = 0;
  virtual Result<StockState> state(const LockName& name) = 0;

  /// Change of the counters of a segment.
  struct Change {
    Quantity quantity = 0;
    Quantity reserved = 0;
    Quantity taken = 0;
    Quantity refunded = 0;
  };
  virtual void move(int segment, const Change& change) = 0;
  virtual void count_added(Quantity quantity) = 0;

  /// Many steps will ask for these requests and for all segments: a store may read them in one go.
  virtual void look_ahead(const std::vector<LockName>& /*ids*/) {}
  /// The same for one request and the quantity() of one segment.
  virtual void look_at(const LockName& /*id*/, int /*segment*/) {}

  /// Record of a request; none of a reservation whose time is over, it was given back. Misconfigured if
  /// it makes no sense.
  virtual Result<std::optional<RequestRecord>> record(const LockName& id) = 0;
  /// With `ttl`: a reservation, until then. REQUIRES: record(id) was the last one that was asked for.
  virtual void remember(const LockName& id, const RequestRecord& record, std::optional<Duration> ttl = {}) = 0;
  /// The token of the reservation that was just remembered: larger than those of all that were made before.
  /// Nothing where the transaction is the token, which it has after commit(): committed_token().
  virtual FencingToken token(const LockName& id) = 0;
  virtual std::optional<FencingToken> committed_token() const { return std::nullopt; }
  /// Ends a reservation: its parts come back, the id is forgotten.
  virtual void give_back(const LockName& id, const RequestRecord& record) = 0;
  /// Gives back the reservations whose time is over. Unless `needed`, where looking for them costs nothing.
  virtual Result<void> sweep(bool needed) = 0;

  /// Levels what can be taken over `segments` segments; what is reserved stays with its segment, or moves to the
  /// home_of() of one that is gone.
  virtual Result<void> level(int segments) = 0;

  /// A short cut for the commonest request, outside of any transaction: an unused id, and the first segments
  /// that are looked at have enough. nullopt: it is not that, nothing has happened, go the long way. `owner` null:
  /// take.
  virtual Result<std::optional<StockAnswer>> deduct_at_once(const StockRequest& /*request*/, const Owner* /*owner*/,
                                                            Duration /*ttl*/, int /*start*/,
                                                            const CallLimit& /*limit*/) {
    return std::optional<StockAnswer>();
  }

  /// The same for show(), nullopt, and for confirm(), false.
  virtual Result<std::optional<StockState>> state_at_once(const LockName& /*name*/, const CallLimit& /*limit*/) {
    return std::optional<StockState>();
  }
  virtual Result<bool> confirm_at_once(const StockRequest& /*request*/, const Owner& /*owner*/,
                                       const CallLimit& /*limit*/) {
    return false;
  }

  /// As Stock::segment_locks().
  virtual SegmentLocks* segment_locks() { return nullptr; }
};

/// One transaction of `ledger`, repeated as long as that is worth it; an Error of `body` undoes all of it.
template <typename T, typename Body>
Result<T> in_transaction(StockLedger& ledger, StockLedger::Access access, const CallLimit& limit, Body body) {
  while (true) {
    if (auto begun = ledger.begin(access, limit); !begun) {
      if (ledger.is_worth_repeating()) continue;
      return begun.error();
    }
    Result<T> answer = body();
    const auto done = answer || ledger.failed() ? ledger.commit() : ledger.conclude();
    if (done) return answer;
    if (!ledger.is_worth_repeating()) return done.error();  // it explains whatever came after it
  }
}

/// A Stock on a ledger: each call is one transaction, repeated after a conflict with another one.
std::unique_ptr<Stock> ledger_stock(std::unique_ptr<StockLedger> ledger);

}  // namespace dlock
