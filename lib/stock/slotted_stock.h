// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/stock/stock.h"
#include "lib/stock/stock_slots.h"

namespace dlock {

/// A stock whose segments lie in several slots that decide one by one. In one slot every call is one step of it. In
/// several the record of a request lies in its home slot (home_slot), and there, in one step, it is decided:
///
///   take, reserve: the home slot alone if it has enough; that is one request. Else it is gathered: hold in the other
///       slots, in their order, then commit at home, then confirm the holds (or cancel them). A hold that is overdue is
///       asked for at home: what was committed is confirmed, what was not is refused for ever and cancelled.
///   refund, add: decided at home, which keeps a pending credit for other slots until it was delivered there, once.
///   rebalance, resize: the plan is written down in the first slot; each slot pours out what it has above its target,
///       then each gets its part. Whoever meets a plan goes on with it.
///   create, drop: the first slot is claimed first, and goes last.
///
/// So whoever comes next finishes or undoes what a dead client left; who looks at all of it (show, a request that is
/// short, add) does. Tokens come from the first slot. `start` picks a segment in the home slot. Source: two-phase
/// commit with the decision in one place (J. Gray, Notes on Data Base Operating Systems, 1978), presumed abort.
class SlottedStock final : public Stock {
 public:
  SlottedStock(std::unique_ptr<StockSlots> slots, const Runtime& runtime);

  const std::string& store() const override { return slots_->store(); }
  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override;
  Result<StockState> show(const LockName& name, const CallLimit& limit) override;
  Result<std::vector<LockName>> names(const CallLimit& limit) override { return slots_->names(limit); }
  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override;
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override;
  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override;
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;
  Result<StockParts> refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override;
  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override;
  /// What lies in one slot goes there in one go. Of several slots each gets the takes whose home it is; one that is
  /// short there is gathered by itself, and everything else is done one by one.
  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override;
  Result<void> rebalance(const LockName& name, const CallLimit& limit) override;
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override;
  Result<void> drop(const LockName& name, const CallLimit& limit) override;

 private:
  /// One view of each slot, in their order.
  using Views = std::vector<SlotView>;

  /// A slot that has nothing of the stock is not made yet, or dropped already: that is finished, and `step` tried
  /// again.
  template <typename T>
  Result<T> with_all_slots(const LockName& name, const CallLimit& limit, const std::function<Result<T>()>& step) {
    std::string whole;
    while (true) {
      auto done = step();
      if (done || done.error().code != ErrorCode::kMisconfigured || slots_->count() == 1) return done;
      if (auto finished = finish(name, limit, done.error(), whole); !finished) return finished.error();
    }
  }
  Result<void> finish(const LockName& name, const CallLimit& limit, const Error& missing, std::string& whole);
  Result<void> finish_creating(const LockName& name, const SlotView& first, const CallLimit& limit);
  Result<void> create_others(const LockName& name, const Owner& maker, const std::string& born, const Levelling& plan,
                             const CallLimit& limit);
  Result<void> drop_all(const LockName& name, const std::string& made, const std::string& born, const CallLimit& limit);

  Result<Views> read_all(const LockName& name, const CallLimit& limit);
  Result<Views> look_still(const LockName& name, const CallLimit& limit);
  Result<bool> recover(const LockName& name, const Views& views, const CallLimit& limit);
  Result<void> recover_hold(const LockName& name, int slot, const SlotView::Held& held, const CallLimit& limit);
  Result<void> deliver(const LockName& name, int home, const PendingCredit& credit, const std::string& made,
                       const CallLimit& limit);
  Result<StockParts> deliver_credit(const LockName& name, int home, Result<SlotChange> change, const CallLimit& limit);

  void serve_takes(const LockName& stock, std::span<const StockStep> takes, std::vector<Result<StepAnswer>>& answers,
                   const CallLimit& limit);
  Result<SlotAnswer> deduct(const SlotTake& take, const CallLimit& limit);
  Result<std::optional<SlotAnswer>> gather(const SlotTake& take, int home, const CallLimit& limit);
  Result<std::optional<SlotAnswer>> try_to_gather(const SlotTake& take, int home, const SlotAttempt& attempt,
                                                  const CallLimit& limit);
  void end_holds(const LockName& name, int home, const SlotParts& parts, HeldEnd end, const CallLimit& limit);
  /// How long parts are held before it is asked what became of their request.
  static Duration hold_for(Duration ttl);

  Result<void> level(const LockName& name, std::optional<int> segments, const CallLimit& limit);
  Result<void> go_on(const LockName& name, const std::string& made, const std::string& text, const CallLimit& limit);

  static Error never_alone(const std::string& what);
  bool in_time(const CallLimit& limit) const;
  void rest(const CallLimit& limit);
  int home_of(const LockName& id) const { return home_slot(id, slots_->count()); }

  std::unique_ptr<StockSlots> slots_;
  const Runtime runtime_;
};

}  // namespace dlock
