// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/stock/slot_plan.h"
#include "lib/stock/stock.h"

namespace dlock {

/// One slot of one stock. The first (0) is the one that makes, drops and levels the stock.
struct StockPlace {
  const LockName& stock;
  int slot = 0;
};

/// A request at its home slot.
struct SlotTake {
  StockRequest request;
  std::string owner;  ///< empty: for good
  Duration ttl{0};
  int start = 0;
};

/// What the home slot says about a request, and the attempt that got it ("" if it was served there alone).
struct SlotAnswer {
  StockAnswer answer;
  std::string attempt;
};

/// One attempt to gather: parts of several slots for one request. All but those of the home slot are held first; the
/// home slot's commit decides.
struct SlotAttempt {
  std::string id;  ///< new for each attempt: hex
  std::string made;
  StockParts parts;
};

/// The parts of a request, and the attempt that got them.
struct SlotParts {
  StockParts parts;
  std::string attempt;
};

/// What is to be delivered to other slots, exactly once: the decision is made already.
struct PendingCredit {
  enum class Book : char { kRefunded = 'r', kAdded = 'a' };
  std::string id;
  Book book = Book::kRefunded;
  StockParts parts;
};

/// The answer to a refund or a restock at the home slot.
struct SlotChange {
  StockParts answer;
  PendingCredit credit;  ///< still; no parts: nothing
  std::string made;
};

enum class HeldEnd { kConfirm, kCancel };

/// What the home slot knows of an attempt. With kRefused it will never be committed: that was decided by asking.
struct AttemptFate {
  enum class Kind { kCommitted, kOpen, kRefused };
  Kind kind = Kind::kRefused;
  Duration remaining{0};  ///< of a reservation, kOpen
};

/// A slot as it is now.
struct SlotView {
  struct Held {
    std::string attempt;
    std::string id;
  };
  std::string made;  ///< by whom: tells a stock from a later one of its name
  std::string born;
  bool dropping = false;
  std::string making;  ///< quantity and segments, while other slots may be missing
  int segments = 0;
  Quantity created = 0, added = 0, taken = 0, refunded = 0, open = 0;
  Quantity epoch = 0;                  ///< of the last levelling, in the first slot
  std::string levelling;               ///< that is under way, in the first slot
  Quantity gains = 0;                  ///< grows whenever there is more to take than before
  std::vector<StockSegment> places;    ///< the numbers slot, slot + slots, ...
  std::vector<Held> overdue;           ///< held for attempts that nobody has heard of in time
  std::vector<PendingCredit> credits;  ///< to other slots
};

/// THE PORT of a store whose slots decide one by one (SlottedStock makes one stock of them). Each call is one step of
/// one slot, by that slot's clock; it can be sent again when its outcome is not known (Unavailable). Misconfigured: the
/// slot has nothing of this stock, or makes no sense.
class StockSlots {
 public:
  virtual ~StockSlots() = default;

  virtual const std::string& store() const = 0;
  virtual int count() const = 0;

  /// Creates the first slot (Conflict if another maker did) and gives back when it was born, or another one, which it
  /// leaves alone if it has a later one. `making` stays until made(). kBusy: it is being dropped.
  virtual Result<std::string> create(const StockPlace& place, const Owner& maker, const std::string& born,
                                     const std::string& making, Quantity created, int segments,
                                     const std::vector<Quantity>& places, const CallLimit& limit) = 0;
  virtual Result<void> made(const StockPlace& place, const std::string& made, const CallLimit& limit) = 0;
  /// From now on it is finished by whoever comes.
  struct Marked {
    std::string made;
    std::string born;
  };
  virtual Result<Marked> mark_dropping(const StockPlace& place, const CallLimit& limit) = 0;
  /// What `made` made, and it alone; all of it if `made` is empty.
  virtual Result<void> drop(const StockPlace& place, const std::string& made, const std::string& born,
                            const CallLimit& limit) = 0;
  virtual Result<std::vector<LockName>> names(const CallLimit& limit) = 0;

  virtual Result<SlotView> read_state(const StockPlace& place, const CallLimit& limit) = 0;
  /// Greater than any that the stock has given.
  virtual Result<FencingToken> token(const StockPlace& place, const CallLimit& limit) = 0;

  // The home slot of a request: its record, and what is decided with it.

  /// Serves it from this slot alone. Short tells of this slot.
  virtual Result<SlotAnswer> take(const StockPlace& place, const SlotTake& take, const CallLimit& limit) = 0;
  /// The commit point: what `attempt` holds elsewhere is the request's, with the parts of this slot. Short: refused, or
  /// too little is here; this attempt has failed.
  virtual Result<SlotAnswer> commit(const StockPlace& place, const SlotTake& take, const SlotAttempt& attempt,
                                    const CallLimit& limit) = 0;
  virtual Result<AttemptFate> ask_fate(const StockPlace& place, const SlotView::Held& held, const CallLimit& limit) = 0;
  virtual Result<void> extend(const StockRequest& request, int slot, const Owner& owner, Duration ttl,
                              const CallLimit& limit) = 0;
  virtual Result<SlotParts> confirm(const StockRequest& request, int slot, const Owner& owner,
                                    const CallLimit& limit) = 0;
  virtual Result<SlotParts> cancel(const StockRequest& request, int slot, const Owner& owner,
                                   const CallLimit& limit) = 0;
  virtual Result<SlotChange> refund(const StockPlace& place, const LockName& id, std::optional<Quantity> quantity,
                                    const CallLimit& limit) = 0;
  /// `parts` empty: to the emptiest of this slot; where it is not the only one: refused as more than fits, unless that
  /// id was added before.
  virtual Result<SlotChange> add(const StockPlace& place, const LockName& id, Quantity quantity,
                                 const StockParts& parts, const CallLimit& limit) = 0;
  /// The credit has arrived everywhere.
  virtual Result<void> delivered(const StockPlace& place, const std::string& id, const CallLimit& limit) = 0;

  /// Many steps at once at the home slot of each, in their order: what this slot alone says. Otherwise as
  /// Stock::serve(). REQUIRES: with several slots they are takes without an owner.
  virtual std::vector<Result<StepAnswer>> serve(const StockPlace& place, std::span<const StockStep> steps,
                                                const CallLimit& limit) = 0;

  // The other slots.

  /// Sets the parts aside for an attempt; false: there is too little, or another stock.
  virtual Result<bool> hold(const StockPlace& place, const SlotAttempt& attempt, const LockName& id, Duration ttl,
                            const CallLimit& limit) = 0;
  /// Not there any more is fine.
  virtual Result<void> end_hold(const StockPlace& place, const std::string& attempt, HeldEnd end,
                                const CallLimit& limit) = 0;
  virtual Result<void> extend_hold(const StockPlace& place, const std::string& attempt, Duration ttl,
                                   const CallLimit& limit) = 0;
  virtual Result<void> deliver(const StockPlace& place, const PendingCredit& credit, const std::string& made,
                               const CallLimit& limit) = 0;

  // Levelling. The first slot has the plan, and no two at a time.

  /// Level this slot by itself; the only one.
  virtual Result<void> level(const StockPlace& place, std::optional<int> segments, const CallLimit& limit) = 0;
  /// False: another one is under way, or was since; or read_state() asked for peace.
  virtual Result<bool> begin_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                                       const CallLimit& limit) = 0;
  virtual Result<void> end_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                                     const CallLimit& limit) = 0;
  /// No new one begins for `ttl`.
  virtual Result<void> keep_still(const StockPlace& place, Duration ttl, const CallLimit& limit) = 0;
  /// What a slot gave, and what is left there.
  struct Poured {
    Quantity out = 0;
    Quantity left = 0;
  };
  /// nullopt: a later levelling was there.
  virtual Result<std::optional<Poured>> pour_out(const StockPlace& place, const Levelling& plan,
                                                 const std::string& made, const CallLimit& limit) = 0;
  virtual Result<void> pour_in(const StockPlace& place, const Levelling& plan, Quantity quantity,
                               const std::string& made, const CallLimit& limit) = 0;
};

}  // namespace dlock
