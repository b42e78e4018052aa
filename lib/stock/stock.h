// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/call_limit.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"
#include "lib/stock/quantity.h"

namespace dlock {

/// One segment of a stock, as it is now.
struct StockSegment {
  Quantity quantity = 0;                   ///< available to takes
  Quantity reserved = 0;                   ///< set aside for commands that run now
  std::optional<LockName> locked_by = {};  ///< the request whose reservation holds its lock
};

/// One stock, as it is now. Always: sum(quantity + reserved) + taken - refunded = created + added.
struct StockState {
  LockName name;
  std::vector<StockSegment> segments;
  Quantity created = 0;
  Quantity added = 0;
  Quantity taken = 0;
  Quantity refunded = 0;
  Quantity open = 0;  ///< how many takes are under way: reserved, and neither sold nor given back

  Quantity total() const;
  Quantity reserved() const;
};

/// A request for items. Sent several times with the same id, it counts once.
struct StockRequest {
  LockName stock;
  LockName id;
  Quantity quantity = 1;
  bool locks = false;  ///< reserve(): it holds the locks of its segments, for as long as it holds its part of them
};

/// A refund of what `id` took, or of `quantity` of it. With a `refund_id` it is one of several, else the only one.
struct StockRefund {
  LockName stock;
  LockName id;
  std::optional<Quantity> quantity = {};  ///< all that was not given back before, without one
  std::optional<LockName> refund_id = {};
  bool before_take = false;  ///< an id that took nothing is closed
};

/// The items that a request has taken or reserved.
struct StockTaken {
  StockParts parts;
  FencingToken token;     ///< of a reservation
  bool repeated = false;  ///< the answer to an earlier request of the same id: sold then, nothing was deducted now
};
/// Nothing was changed. More than `available` may come back: `reserved` is set aside for commands that still run.
struct StockShort {
  Quantity available = 0;
  Quantity reserved = 0;
};
/// A command with the same request id runs at this moment.
struct StockInProgress {
  /// Or others hold the locks of segments that have enough: the one that is likely to be the next free one, and when.
  struct Turn {
    int segment = 0;
    Duration in{0};
    bool of_all = false;  ///< all locks were looked at; else another one may be free
  };
  std::optional<Turn> locked = {};
};
using StockAnswer = std::variant<StockTaken, StockShort, StockInProgress>;

/// What a refund has given back, or a restock has added.
struct StockMoved {
  StockParts parts;
  bool repeated = false;  ///< it was done before, nothing was changed now
};

/// What is remembered of a request.
struct KnownRequest {
  LockName id;
  const char* kind = "";   ///< the action that it was: "take", "run", "refund" (before its take), "add"
  const char* state = "";  ///< "reserved", "sold", "refunded", "closed", "added"
  Quantity quantity = 0;
  Quantity refunded = 0;  ///< of it, so far
  StockParts parts;
  std::int64_t changed_us = 0;  ///< by the store's clock
};

/// One line of a batch: what a call of Stock is for the one request `id`.
struct StockStep {
  enum class Kind { kTake, kRefund, kAdd };
  Kind kind = Kind::kTake;
  LockName id;
  std::optional<Quantity> quantity = {};  ///< take: 1 without one; refund: all; add: REQUIRED
  std::optional<LockName> refund_id = {};
  int start = 0;  ///< of a take, as of Stock::take
};
/// Answer of a step: a take as take(), the others as theirs.
using StepAnswer = std::variant<StockTaken, StockShort, StockInProgress, StockMoved>;
StepAnswer step_answer(StockAnswer answer);

/// THE PORT of stock: what a store of stocks can do. One sentence here, one case in tests/conformance/stock_test.cpp.
/// Not thread-safe. Every call but rebalance() and resize() is one step: it happens altogether or not at all, whoever
/// dies; those two are several, between which the stock is right, and again goes on with what is left. Unavailable: it
/// is not known whether it happened, and the same call again (the same id, the same owner) finds out without doing it
/// twice. A stock that is not there is Misconfigured; a store whose data make no sense says so (Misconfigured) and
/// changes nothing. Reservations whose time is over are given back by whoever comes next.
class Stock {
 public:
  virtual ~Stock() = default;

  /// The redacted URL.
  virtual const std::string& store() const = 0;

  /// Spreads `quantity` evenly. Conflict if there is one of that name, unless `maker` itself made it.
  virtual Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                              const CallLimit& limit) = 0;
  virtual Result<StockState> show(const LockName& name, const CallLimit& limit) = 0;
  /// In canonical order.
  virtual Result<std::vector<LockName>> names(const CallLimit& limit) = 0;
  /// What is remembered, the newest first, `most` at most.
  virtual Result<std::vector<KnownRequest>> requests(const LockName& name, std::size_t most,
                                                     const CallLimit& limit) = 0;

  /// Deducts. `start`: the segment to begin with, any number from 0 on; a segment that is short is left at once for the
  /// next; what no segment has alone is gathered from several. The same id again: StockTaken, repeated; with another
  /// quantity: Conflict; refunded in between, or before: Lost.
  virtual Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) = 0;

  /// The same, but only sets it aside, for `ttl` from now. The same owner again has the same answer, and a new ttl.
  /// With request.locks from segments alone whose lock no other reservation holds: it may look at some locks only, but
  /// at all of them (Turn::of_all) when it is asked again at once.
  virtual Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                                      const CallLimit& limit) = 0;
  /// Makes a reservation end `ttl` from now. Lost if it is over.
  virtual Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl,
                              const CallLimit& limit) = 0;
  /// After a reserve() that was locked out: waits until `turn` may have come, where the store tells, for a second at
  /// most; else for `pause`. False: limit.control wants an end.
  virtual bool wait_for(const LockName& stock, const StockInProgress::Turn& turn, Duration pause,
                        const CallLimit& limit) = 0;
  /// The reserved items are sold. Lost if the reservation is over; sold already, by this owner or at once (take), is
  /// fine.
  virtual Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) = 0;
  /// The reserved items come back, and the id is free again. A reservation that is gone is fine. Conflict if it was
  /// sold.
  virtual Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) = 0;

  /// Gives items back to the segments they came from, once per refund id, and once without one: again it changes
  /// nothing and says the same, repeated. Conflict for another quantity than the first time, for more than is left of
  /// what was taken, or for more than kMostRefunds. Busy while its command runs. Lost if it took nothing, and nothing
  /// was changed; but with before_take it is refused for ever from then on, and the answer is empty.
  virtual Result<StockMoved> refund(const StockRefund& refund, const CallLimit& limit) = 0;
  /// To the emptiest segments, once per id.
  virtual Result<StockMoved> add(const LockName& name, const LockName& id, Quantity quantity,
                                 const CallLimit& limit) = 0;

  /// Many steps of one stock, in their order, with one answer each: what its own call would say. Each is a step by
  /// itself: what one is refused changes nothing for its neighbours, and a dead client leaves a beginning of them done.
  /// A store does in one go what it can: pipelined, or in one transaction. Unavailable: the outcome of this step is not
  /// known, or it was not begun, and no later step of the same id has another answer; the caller serves those again, in
  /// their order. `steps` outlive the call.
  virtual std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                                const CallLimit& limit) {
    return serve_each(stock, steps, limit);
  }

  /// Levels what can be taken.
  virtual Result<void> rebalance(const LockName& name, const CallLimit& limit) = 0;
  /// Levels it over another number of segments.
  virtual Result<void> resize(const LockName& name, int segments, const CallLimit& limit) = 0;
  /// The stock and its requests are gone. Not there any more is Misconfigured.
  virtual Result<void> drop(const LockName& name, const CallLimit& limit) = 0;

 protected:
  /// One step by its own call.
  Result<StepAnswer> serve_one(const LockName& stock, const StockStep& step, const CallLimit& limit);
  /// One after the other; after the first Unavailable nothing is begun.
  std::vector<Result<StepAnswer>> serve_each(const LockName& stock, std::span<const StockStep> steps,
                                             const CallLimit& limit);
};

/// How many segments a stock can have.
inline constexpr int kMostSegments = 1000;
/// How many refunds one request can have.
inline constexpr std::size_t kMostRefunds = 100;

/// For backends: the errors that the port speaks of.
Error no_stock_in(const BackendUrl& url);
Error no_such_stock(const LockName& name, const std::string& store);
bool is_no_such_stock(const Error& error, const LockName& name, const std::string& store);
/// `error`, with the name nearest to `name` if it says that there is no stock of that name. Asks for the names.
Error with_nearest_stock(Error error, Stock& stock, const LockName& name, const CallLimit& limit);
Error stock_exists(const LockName& name, const std::string& store);
/// A restock that would make it more than kMostItems.
Error too_many_items(const LockName& id, Quantity quantity);
/// That error, unless `quantity` fits beside all that was `put_in` before: what was taken of that may come back.
Result<void> check_room(const LockName& id, Quantity quantity, Quantity put_in);
Error id_reused(const LockName& id, Quantity before, Quantity now);
/// `sold`: what of it was not.
Error id_refunded(const LockName& id, Quantity sold = 0);
Error id_of_restock(const LockName& id);
/// `closed`: before it took anything.
Error id_of_take(const LockName& id, bool closed);
Error took_nothing(const LockName& id);
Error refunded_otherwise(const StockRefund& refund, Quantity before);
/// `refunded` of what was `taken` came back before.
Error more_than_taken(const StockRefund& refund, Quantity taken, Quantity refunded);
Error too_many_refunds(const LockName& id);
Error refund_while_running(const LockName& id);
Error sold_already(const LockName& id);
Error reservation_over(const LockName& name, const LockName& id);
Error broken_stock(const LockName& name, const std::string& what);
/// One more would be more than kMostItems.
Error has_sold_too_many(const LockName& name, int segment);

}  // namespace dlock
