// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/stock_ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/stock/segment_plan.h"

namespace dlock {
namespace {

using Access = StockLedger::Access;
using State = RequestRecord::State;

bool is_reserved_by(const std::optional<RequestRecord>& record, const Owner& owner) {
  return record && record->state == State::kReserved && record->owner == owner.text();
}

class LedgerStock final : public Stock {
 public:
  explicit LedgerStock(std::unique_ptr<StockLedger> ledger) : ledger_(std::move(ledger)) {}

  const std::string& store() const override { return ledger_->store(); }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override {
    return in_transaction<void>(*ledger_, Access::kMake, limit, [&]() -> Result<void> {
      if (!ledger_->find(name)) {
        ledger_->create(name, quantity, segments, maker);
        return {};
      }
      return ledger_->maker() == maker.text() ? Result<void>() : stock_exists(name, store());
    });
  }

  Result<StockState> show(const LockName& name, const CallLimit& limit) override {
    TRY_ASSIGN(auto at_once, ledger_->state_at_once(name, limit));
    if (at_once) return std::move(*at_once);
    return in_stock<StockState>(name, Access::kShared, limit, [&] { return ledger_->state(name); });
  }

  Result<std::vector<LockName>> names(const CallLimit& limit) override {
    using Names = std::vector<LockName>;
    return in_transaction<Names>(*ledger_, Access::kShared, limit, [&]() -> Result<Names> { return ledger_->names(); });
  }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return deduct(request, nullptr, Duration(0), start, limit);
  }

  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return deduct(request, &owner, ttl, start, limit);
  }

  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override {
    const auto extended = in_stock<void>(request.stock, Access::kShared, limit, [&]() -> Result<void> {
      TRY_ASSIGN(const auto record, ledger_->record(request.id));
      if (!is_reserved_by(record, owner)) return reservation_over(request.stock, request.id);
      ledger_->remember(request.id, *record, ttl);
      return {};
    });
    return missing_ ? reservation_over(request.stock, request.id) : extended;
  }

  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    if (!in_group_) {
      TRY_ASSIGN(const auto at_once, ledger_->confirm_at_once(request, owner, limit));
      if (at_once) return {};
    }
    const auto confirmed = in_stock<void>(request.stock, Access::kShared, limit, [&]() -> Result<void> {
      TRY_ASSIGN(const auto record, ledger_->record(request.id));
      if (record && is_sold_to(*record, owner)) return {};
      if (!is_reserved_by(record, owner)) return reservation_over(request.stock, request.id);
      RequestRecord sold = *record;
      sold.state = State::kTaken;
      for (const StockPart& part : sold.parts)
        ledger_->move(part.segment, {.reserved = -part.quantity, .taken = part.quantity});
      ledger_->remember(request.id, sold);
      return {};
    });
    return missing_ ? reservation_over(request.stock, request.id) : confirmed;
  }

  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    const auto cancelled = in_stock<void>(request.stock, Access::kShared, limit, [&]() -> Result<void> {
      TRY_ASSIGN(const auto record, ledger_->record(request.id));
      if (record && record->state == State::kTaken) return sold_already(request.id);
      if (is_reserved_by(record, owner)) ledger_->give_back(request.id, *record);
      return {};
    });
    return missing_ ? Result<void>() : cancelled;  // no stock: nothing is set aside
  }

  Result<StockParts> refund(const StockRefund& refund, const CallLimit& limit) override {
    return in_stock<StockParts>(refund.stock, Access::kShared, limit, [&]() -> Result<StockParts> {
      TRY_ASSIGN(const auto record, ledger_->record(refund.id));
      TRY_ASSIGN(auto plan, plan_refund(record ? &*record : nullptr, refund));
      for (const StockPart& part : plan.back) {
        const int home = home_of(part.segment, ledger_->segments());
        ledger_->move(home, {.quantity = part.quantity, .refunded = part.quantity});
      }
      ledger_->remember(refund.id, plan.record);
      return std::move(plan.answer);
    });
  }

  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override {
    return in_stock<StockParts>(name, Access::kAlone, limit, [&]() -> Result<StockParts> {
      TRY_ASSIGN(const auto record, ledger_->record(id));
      if (record && record->state != State::kAdded) return id_of_take(id);
      if (record && record->quantity != quantity) return id_reused(id, record->quantity, quantity);
      if (record) return record->parts;
      TRY_ASSIGN(const auto have, ledger_->quantities());
      TRY(check_room(id, quantity, ledger_->put_in()));
      StockParts parts = fill_emptiest(have, quantity);
      for (const StockPart& part : parts) ledger_->move(part.segment, {.quantity = part.quantity});
      ledger_->count_added(quantity);
      ledger_->remember(id, {State::kAdded, quantity, parts, {}, 0});
      return parts;
    });
  }

  /// Group commit: one transaction for all of them. A step decides before it writes, so one that is refused has written
  /// nothing, and the others are committed beside it.
  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override {
    Answers answers;
    while (answers.size() < steps.size()) {
      const auto rest = steps.subspan(answers.size());
      auto served = serve_together(stock, rest.first(ledger_->together(rest)), limit);
      std::move(served.begin(), served.end(), std::back_inserter(answers));
      const Result<StepAnswer> last = answers.back();
      if (!last && last.error().code == ErrorCode::kUnavailable) answers.resize(steps.size(), last);
    }
    return answers;
  }

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override {
    return in_stock<void>(name, Access::kAlone, limit, [&] { return ledger_->level(ledger_->segments()); });
  }

  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return in_stock<void>(name, Access::kAlone, limit, [&] { return ledger_->level(segments); });
  }

  Result<void> drop(const LockName& name, const CallLimit& limit) override {
    bool tried = false;
    const auto dropped = in_stock<void>(name, Access::kAlone, limit, [&]() -> Result<void> {
      ledger_->drop();
      tried = true;
      return {};
    });
    return missing_ && tried ? Result<void>() : dropped;  // gone: the answer to the first try was lost
  }

  SegmentLocks* segment_locks() override { return ledger_->segment_locks(); }

 private:
  using Answers = std::vector<Result<StepAnswer>>;

  /// One transaction on the stock `name`, or a part of the group's.
  template <typename T, typename Body>
  Result<T> in_stock(const LockName& name, Access access, const CallLimit& limit, Body body) {
    missing_ = false;
    if (in_group_) return body();
    return in_transaction<T>(*ledger_, access, limit, [&]() -> Result<T> {
      const bool found = ledger_->find(name);
      missing_ = !found && !ledger_->failed();
      if (!found) return no_such_stock(name, store());
      TRY(ledger_->sweep(false));
      return body();
    });
  }

  Answers serve_together(const LockName& stock, std::span<const StockStep> steps, const CallLimit& limit) {
    if (steps.size() < 2) return serve_each(stock, steps, limit);
    const auto is_add = [](const StockStep& step) { return step.kind == StockStep::Kind::kAdd; };
    const Access access = std::any_of(steps.begin(), steps.end(), is_add) ? Access::kAlone : Access::kShared;
    auto served =
        in_stock<Answers>(stock, access, limit, [&]() -> Result<Answers> { return serve_group(stock, steps, limit); });
    if (!served && served.error().code == ErrorCode::kUnavailable) return Answers(steps.size(), served.error());
    if (!served) return serve_each(stock, steps, limit);  // nothing has happened; it is seen which of them fails
    return std::move(*served);
  }

  /// All takes begin with one segment: the fewer are written, the fewer races are lost.
  Result<Answers> serve_group(const LockName& stock, std::span<const StockStep> steps, const CallLimit& limit) {
    group_start_ = steps.front().start;
    std::vector<LockName> ids;
    for (const StockStep& step : steps) ids.push_back(step.id);
    ledger_->look_ahead(ids);
    in_group_ = true;
    Answers answers;
    for (std::size_t i = 0; i < steps.size() && !ledger_->failed(); ++i) {
      answers.push_back(serve_one(stock, steps[i], limit));
    }
    in_group_ = false;
    return answers;
  }

  /// `owner` null: for good.
  Result<StockAnswer> deduct(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                             const CallLimit& limit) {
    if (!in_group_) {
      TRY_ASSIGN(auto at_once, ledger_->deduct_at_once(request, owner, ttl, start, limit));
      if (at_once) return std::move(*at_once);
    }
    auto answer = in_stock<StockAnswer>(request.stock, Access::kShared, limit, [&] {
      const int count = ledger_->segments();
      const int first = ((in_group_ ? group_start_ : start) % count + ledger_->lost_races()) % count;
      return deduct_in_stock(request, owner, ttl, request.only_segment.value_or(first));
    });
    auto* taken = answer ? std::get_if<StockTaken>(&*answer) : nullptr;
    if (taken && owner) tell_late(*taken);
    return answer;
  }

  /// Token of a reservation, known only from its transaction.
  void tell_late(StockTaken& taken) const {
    const auto token = ledger_->committed_token();
    if (token && !taken.repeated) taken.token = *token;
  }

  /// Which segments serve the request; nullopt: all together have too little.
  Result<std::optional<StockParts>> choose(const StockRequest& request, int first) {
    if (first < ledger_->segments()) {
      TRY_ASSIGN(const auto here, ledger_->quantity(first));
      if (here && *here >= request.quantity) return std::optional(StockParts{{first, request.quantity}});
    }
    TRY_ASSIGN(const auto have, ledger_->quantities());
    return request.only_segment ? choose_from(have, first, request.quantity)
                                : choose_parts(have, first, request.quantity);
  }

  Result<StockAnswer> deduct_in_stock(const StockRequest& request, const Owner* owner, Duration ttl, int first) {
    if (!in_group_) ledger_->look_at(request.id, first);
    TRY_ASSIGN(const auto record, ledger_->record(request.id));
    TRY_ASSIGN(auto again, answer_again(record ? &*record : nullptr, request, owner));
    if (again) {
      if (auto* taken = std::get_if<StockTaken>(&*again); taken && !taken->repeated) {
        ledger_->remember(request.id, *record, ttl);
        taken->token = ledger_->token(request.id);
      }
      return *again;
    }
    auto parts = choose(request, first);
    if (!parts) return parts.error();
    if (!*parts) {  // unless something comes back whose time is over
      TRY(ledger_->sweep(true));
      parts = choose(request, first);
      if (!parts) return parts.error();
    }
    if (!*parts) return StockAnswer(StockShort{ledger_->available(), ledger_->reserved()});
    RequestRecord made{owner ? State::kReserved : State::kTaken, request.quantity, **parts,
                       owner ? owner->text() : std::string(), 0};
    for (const StockPart& part : **parts) {
      if (owner) ledger_->move(part.segment, {.quantity = -part.quantity, .reserved = part.quantity});
      else ledger_->move(part.segment, {.quantity = -part.quantity, .taken = part.quantity});
    }
    ledger_->remember(request.id, made, owner ? std::optional(ttl) : std::nullopt);
    return StockAnswer(StockTaken{**parts, owner ? ledger_->token(request.id) : FencingToken(), false});
  }

  const std::unique_ptr<StockLedger> ledger_;
  bool in_group_ = false;  ///< serve() has begun a transaction and found the stock
  int group_start_ = 0;
  bool missing_ = false;  ///< the last call found no stock of that name
};

}  // namespace

std::unique_ptr<Stock> ledger_stock(std::unique_ptr<StockLedger> ledger) {
  return std::make_unique<LedgerStock>(std::move(ledger));
}

}  // namespace dlock
