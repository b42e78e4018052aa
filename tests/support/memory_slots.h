// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/stock/request_record.h"
#include "lib/stock/stock_slots.h"

namespace dlock::testing {

/// One slot of one stock, in memory: what a script does in one step is one call here.
struct MemorySlot {
  struct Held {
    TimePoint until;
    std::string id;
    StockParts parts;
  };
  std::string made, born, making, levelling;
  bool dropping = false;
  int segments = 0;
  Quantity created = 0, added = 0, taken = 0, refunded = 0, gains = 0, epoch = 0;
  Quantity moved = 0, out = 0, left = 0;
  bool poured = false;
  TimePoint still{};
  std::vector<StockSegment> places;
  std::map<std::string, RequestRecord> records;  ///< reservations as well
  std::map<std::string, std::string> attempts;   ///< by request
  std::map<std::string, TimePoint> until;        ///< of reservations
  std::map<std::string, Held> held;
  std::map<std::string, PendingCredit> credits;
  std::set<std::string> refused, delivered;

  Quantity sum() const {
    Quantity sum = 0;
    for (const StockSegment& place : places) sum += place.quantity;
    return sum;
  }
};

/// The slots of one stock; outlives its clients.
struct MemoryWorld {
  MemoryWorld(Clock& its_clock, int slots) : clock(its_clock), all(static_cast<std::size_t>(slots)) {}

  Clock& clock;
  std::vector<MemorySlot> all;
  std::uint64_t token = 0;
  std::vector<std::string> told;  ///< what was asked: "take 0", "hold 1", ...
  std::function<void(const std::string& asked)> after_each = {};
};

/// A client of it. It dies when `steps` calls are done: of the next one, nothing is heard; it happens if
/// `last_one_happens`.
class MemorySlots final : public StockSlots {
 public:
  explicit MemorySlots(MemoryWorld& world) : world_(world) {}

  int steps = 1'000'000;
  bool last_one_happens = false;
  bool dead = false;

  const std::string& store() const override { return store_; }
  int count() const override { return static_cast<int>(world_.all.size()); }

  Result<std::string> create(const StockPlace& place, const Owner& maker, const std::string& born,
                             const std::string& making, Quantity created, int segments,
                             const std::vector<Quantity>& places, const CallLimit& limit) override;
  Result<void> made(const StockPlace& place, const std::string& made, const CallLimit& limit) override;
  Result<Marked> mark_dropping(const StockPlace& place, const CallLimit& limit) override;
  Result<void> drop(const StockPlace& place, const std::string& made, const std::string& born,
                    const CallLimit& limit) override;
  Result<std::vector<LockName>> names(const CallLimit& limit) override;
  Result<SlotView> read_state(const StockPlace& place, const CallLimit& limit) override;
  Result<FencingToken> token(const StockPlace& place, const CallLimit& limit) override;
  Result<SlotAnswer> take(const StockPlace& place, const SlotTake& take, const CallLimit& limit) override;
  std::vector<Result<StepAnswer>> serve(const StockPlace& place, std::span<const StockStep> takes,
                                        const CallLimit& limit) override;
  Result<SlotAnswer> commit(const StockPlace& place, const SlotTake& take, const SlotAttempt& attempt,
                            const CallLimit& limit) override;
  Result<AttemptFate> ask_fate(const StockPlace& place, const SlotView::Held& held, const CallLimit& limit) override;
  Result<void> extend(const StockRequest& request, int slot, const Owner& owner, Duration ttl,
                      const CallLimit& limit) override;
  Result<SlotParts> confirm(const StockRequest& request, int slot, const Owner& owner, const CallLimit& limit) override;
  Result<SlotParts> cancel(const StockRequest& request, int slot, const Owner& owner, const CallLimit& limit) override;
  Result<SlotChange> refund(const StockPlace& place, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override;
  Result<SlotChange> add(const StockPlace& place, const LockName& id, Quantity quantity, const StockParts& parts,
                         const CallLimit& limit) override;
  Result<void> delivered(const StockPlace& place, const std::string& id, const CallLimit& limit) override;
  Result<bool> hold(const StockPlace& place, const SlotAttempt& attempt, const LockName& id, Duration ttl,
                    const CallLimit& limit) override;
  Result<void> end_hold(const StockPlace& place, const std::string& attempt, HeldEnd end,
                        const CallLimit& limit) override;
  Result<void> extend_hold(const StockPlace& place, const std::string& attempt, Duration ttl,
                           const CallLimit& limit) override;
  Result<void> deliver(const StockPlace& place, const PendingCredit& credit, const std::string& made,
                       const CallLimit& limit) override;
  Result<void> level(const StockPlace& place, std::optional<int> segments, const CallLimit& limit) override;
  Result<bool> begin_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                               const CallLimit& limit) override;
  Result<void> end_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                             const CallLimit& limit) override;
  Result<void> keep_still(const StockPlace& place, Duration ttl, const CallLimit& limit) override;
  Result<std::optional<Poured>> pour_out(const StockPlace& place, const Levelling& plan, const std::string& made,
                                         const CallLimit& limit) override;
  Result<void> pour_in(const StockPlace& place, const Levelling& plan, Quantity quantity, const std::string& made,
                       const CallLimit& limit) override;

 private:
  /// One message there and back, for a stock that is there: `call` gets the slot.
  template <typename T, typename Call>
  Result<T> step(const char* what, const StockPlace& place, Call call);
  StockSegment& at(MemorySlot& slot, int slot_number, int segment);
  StockParts mine(const StockParts& parts, int slot) const { return parts_in(parts, slot, count()); }
  bool has(MemorySlot& slot, int number, const StockParts& parts);
  void give_back(MemorySlot& slot, int number, const std::string& id);
  void level_to(MemorySlot& slot, int number, int segments, Quantity sum);
  Result<SlotAnswer> deduct(MemorySlot& slot, int number, const SlotTake& take, const StockParts& parts,
                            const std::string& attempt);
  Result<std::optional<SlotAnswer>> again(MemorySlot& slot, const SlotTake& take);

  MemoryWorld& world_;
  const std::string store_ = "memory:";
};

template <typename T, typename Call>
Result<T> MemorySlots::step(const char* what, const StockPlace& place, Call call) {
  const Error silence{ErrorCode::kUnavailable, "no answer"};
  if (dead) return silence;
  dead = steps-- == 0;
  if (dead && !last_one_happens) return silence;
  MemorySlot& slot = world_.all[static_cast<std::size_t>(place.slot)];
  world_.told.push_back(std::string(what) + " " + std::to_string(place.slot));
  const auto all = slot.until;
  for (const auto& [id, end] : all) {
    if (end <= world_.clock.now()) give_back(slot, place.slot, id);
  }
  const bool makes = std::string_view(what) == "create" || std::string_view(what) == "drop";
  Result<T> answer = slot.made.empty() && !makes ? Result<T>(no_such_stock(place.stock, store_)) : call(slot);
  if (dead) return silence;
  if (const auto hook = world_.after_each) hook(std::string(what) + " " + std::to_string(place.slot));
  return answer;
}

}  // namespace dlock::testing
