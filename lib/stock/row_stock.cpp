// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/row_stock.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "lib/base/random.h"
#include "lib/stock/stock_calls.h"
#include "lib/stock/stock_decisions.h"
#include "lib/stock/stock_keeping.h"
#include "lib/stock/stock_look.h"
#include "lib/stock/stock_rows.h"

namespace dlock {
namespace {

using State = RequestRecord::State;

constexpr int kAllLocksOnceIn = 8;  ///< looks that could also show that a stock is short
constexpr int kChances = 1 << 16;
constexpr Duration kSweepPause = std::chrono::seconds(1);
constexpr Duration kAllLocksPause = std::chrono::seconds(1);  ///< between two looks of a waiter at all locks
constexpr Duration kLongestTurn = std::chrono::seconds(1);    ///< waited for

class RowStock final : public Stock {
 public:
  RowStock(std::unique_ptr<Rows> rows, Clock& clock) : calls_(std::move(rows), clock) {}

  const std::string& store() const override { return calls_.store(); }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override {
    return create_stock(calls_, name, quantity, segments, maker, limit);
  }
  Result<StockState> show(const LockName& name, const CallLimit& limit) override {
    return show_stock(calls_, name, limit);
  }
  Result<std::vector<KnownRequest>> requests(const LockName& name, std::size_t most, const CallLimit& limit) override {
    return known_requests(calls_, name, most, limit);
  }
  Result<std::vector<LockName>> names(const CallLimit& limit) override {
    return calls_.until_answered([&] { return calls_.rows().groups(limit); }, limit);
  }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return deduct_one(request, {request.quantity, start}, limit);
  }
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return deduct_one(request, {request.quantity, start, request.locks, &owner, ttl}, limit);
  }
  bool wait_for(const LockName& stock, const StockInProgress::Turn& turn, Duration pause,
                const CallLimit& limit) override {
    const auto ours = in_vain_ ? StockCalls::LockTurn() : calls_.turn_of_lock(stock, turn.segment, kLongestTurn, limit);
    turn_ = ours.segment;
    if (locked_out_) locked_out_->waits = true;
    in_vain_ = in_vain_ || (ours.queues && !turn_);
    const bool goes_on = ours.queues ? !limit.control || !limit.control->stop_requested()
                                     : calls_.wait_for(stock, lock_row(turn.segment), pause, limit);
    // Without our turn, and untold, a look costs less than a commit that is refused.
    if (locked_out_ && (ours.queues ? !turn_ : !calls_.is_told())) locked_out_->waited_for.reset();
    return goes_on;
  }
  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override {
    return go_on_with(request, owner, End::kExtend, ttl, limit);
  }
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return go_on_with(request, owner, End::kConfirm, Duration(0), limit);
  }
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return go_on_with(request, owner, End::kCancel, Duration(0), limit);
  }

  Result<StockMoved> refund(const StockRefund& refund, const CallLimit& limit) override;
  Result<StockMoved> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override;
  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override;

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override {
    return level_stock(calls_, name, 0, limit);
  }
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return level_stock(calls_, name, segments, limit);
  }
  Result<void> drop(const LockName& name, const CallLimit& limit) override {
    return drop_stock(calls_, name, unanswered_drop_, limit);
  }

 private:
  Result<StockLook> look(const LockName& name, const std::vector<LockName>& ids, const Sight& sight,
                         const CallLimit& limit) {
    return calls_.look(name, ids, sight, limit);
  }
  template <typename SightOf, typename Decide>
  void settle(const LockName& name, Steps& steps, SightOf sight_of, Rows::Tell tell, Decide decide,
              const CallLimit& limit);
  template <typename Decide>
  void settle_once(const LockName& name, Steps& steps, Rows::Tell tell, Decide decide, const CallLimit& limit);
  void sweep_for(const LockName& name, Steps& steps, const CallLimit& limit);

  void deduct(const LockName& name, Steps& steps, const std::vector<Wish>& wishes, const CallLimit& limit);
  std::optional<int> take_turn(const StockRequest& request, const Wish& wish, const CallLimit& limit);
  StockAnswer lock_out(const LockName& id, const StockInProgress::Turn& turn);
  bool is_asked_at_once(const LockName& id) const;
  bool wants_all_locks(const LockName& id) const;
  bool has_waited_for(const LockName& id, int segment) const;
  Result<StockAnswer> deduct_one(const StockRequest& request, const Wish& wish, const CallLimit& limit);
  void settle_refunds(const LockName& name, Steps& steps, const std::vector<StockRefund>& refunds,
                      const CallLimit& limit);
  Steps serve_together(const LockName& name, std::span<const StockStep> some, const CallLimit& limit);

  // What is set aside.
  enum class End { kExtend, kConfirm, kCancel };
  struct Aside {
    LockName stock;
    LockName id;
    SeenRequest seen;
  };
  Result<void> go_on_with(const StockRequest& request, const Owner& owner, End end, Duration ttl,
                          const CallLimit& limit);
  bool is_aside(const StockRequest& request, const Owner& owner) const;

  struct LockedOut {
    LockName id;
    std::optional<int> waited_for;  ///< the segment whose lock it waits for; none: the rows are looked at
    TimePoint all_at{};             ///< when it looks at all locks
    bool waits = false;             ///< since then
  };

  StockCalls calls_;
  std::optional<Aside> aside_;           ///< the last reservation of ours
  std::optional<LockedOut> locked_out_;  ///< the request that was locked out last
  std::optional<int> turn_;              ///< the segment whose lock's turn has come to us
  bool in_vain_ = false;    ///< it did not come, or somebody else had the lock: next, the rows are looked at
  TimePoint next_sweep_{};  ///< for who waits for locks
  std::optional<std::string> unanswered_drop_;
};

/// Until all steps have their answers, by `decide(look, races, i)`. `sight_of(races)` says what the look has; without
/// it nothing but what is known of the stock, if anything is.
template <typename SightOf, typename Decide>
void RowStock::settle(const LockName& name, Steps& steps, SightOf sight_of, Rows::Tell tell, Decide decide,
                      const CallLimit& limit) {
  for (int races = 0;; ++races) {
    std::vector<LockName> ids;
    for (const Step& step : steps) {
      if (!step.answer) ids.push_back(step.id);
    }
    if (ids.empty()) return;
    const auto in_time = calls_.race(name, races, limit);
    const std::optional<Sight> sight = sight_of(races);
    const bool blindly = !sight && calls_.known(name).head;
    auto seen = !in_time  ? Result<StockLook>(in_time.error())
                : blindly ? Result<StockLook>(calls_.known(name))
                          : look(name, ids, sight.value_or(Sight{.segments = true, .few = true}), limit);
    if (seen && !seen->head) seen = no_such_stock(name, store());
    for (Step& step : steps) {
      if (!seen && !step.answer) step.answer = seen.error();
    }
    if (!seen) return;
    const auto decide_now = [&](std::size_t i) { return decide(*seen, races, i); };
    settle_once(name, steps, tell, decide_now, limit);
    sweep_for(name, steps, limit);
  }
}

template <typename Decide>
void RowStock::settle_once(const LockName& name, Steps& steps, Rows::Tell tell, Decide decide, const CallLimit& limit) {
  std::vector<Step*> open;
  std::vector<Rows::Commit> commits;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].answer) continue;
    steps[i].promised.reset();
    Rows::Commit commit = decide(i);
    if (commit.empty()) continue;
    open.push_back(&steps[i]);
    commits.push_back(std::move(commit));
  }
  if (commits.empty()) return;
  const auto numbers = calls_.commit_each(name, commits, tell, limit);
  for (std::size_t i = 0; i < open.size(); ++i) {
    Step& step = *open[i];
    if (!numbers[i]) step.answer = numbers[i].error();
    if (!numbers[i] || *numbers[i] == 0 || !step.promised) continue;
    if (auto* taken = std::get_if<StockTaken>(&*step.promised)) taken->token = FencingToken(*numbers[i]);
    step.answer = std::move(*step.promised);
  }
}

/// Those that were short, or locked out, look again if something came back whose time was over. Who waits for locks
/// looks for that now and then.
void RowStock::sweep_for(const LockName& name, Steps& steps, const CallLimit& limit) {
  const auto is_unmet = [](const Step& step) { return !step.answer && step.unmet; };
  const auto unmet = std::find_if(steps.begin(), steps.end(), is_unmet);
  if (unmet == steps.end()) return;
  const bool seldom = std::holds_alternative<StockInProgress>(*unmet->promised);
  const bool skips = seldom && calls_.now() < next_sweep_;
  if (!skips) next_sweep_ = calls_.now() + kSweepPause;
  const auto swept = skips ? Result<int>(0) : sweep_stock(calls_, name, limit);
  for (Step& step : steps) {
    if (!is_unmet(step)) continue;
    if (!swept) step.answer = swept.error();
    else if (*swept == 0) step.answer = *step.promised;
    step.unmet = false;
  }
}

bool RowStock::is_asked_at_once(const LockName& id) const {
  return locked_out_ && locked_out_->id == id && !locked_out_->waits;
}

/// A waiter looks at a few locks, which others may hold for long: now and then, and before it gives up, at all of them.
bool RowStock::wants_all_locks(const LockName& id) const {
  return is_asked_at_once(id) || (locked_out_ && locked_out_->id == id && calls_.now() >= locked_out_->all_at);
}

StockAnswer RowStock::lock_out(const LockName& id, const StockInProgress::Turn& turn) {
  const bool goes_on = locked_out_ && locked_out_->id == id && !turn.of_all;
  locked_out_ = LockedOut{id, turn.segment, goes_on ? locked_out_->all_at : calls_.now() + kAllLocksPause};
  return StockInProgress{turn};
}

bool RowStock::has_waited_for(const LockName& id, int segment) const {
  return locked_out_ && locked_out_->id == id && locked_out_->waited_for == segment;
}

/// For a request that wants a lock and has not waited for one, where the store has queues for them. If the turn of none
/// is free: of which one it is to wait for.
std::optional<int> RowStock::take_turn(const StockRequest& request, const Wish& wish, const CallLimit& limit) {
  const bool looks = std::exchange(in_vain_, false);
  if (!wish.locks || looks || is_asked_at_once(request.id)) return std::nullopt;
  if (has_waited_for(request.id, wish.start)) return std::nullopt;
  const auto turn = calls_.turn_of_lock(request.stock, wish.start, Duration(0), limit);
  turn_ = turn.segment;
  if (!turn.queues || turn_) return std::nullopt;
  return wish.start % calls_.known(request.stock).head->segments;
}

Result<StockAnswer> RowStock::deduct_one(const StockRequest& request, const Wish& wish, const CallLimit& limit) {
  if (const auto busy = take_turn(request, wish, limit)) return lock_out(request.id, {*busy, Duration(0)});
  const bool had_turn = turn_.has_value();
  Steps steps{{request.id}};
  deduct(request.stock, steps, {wish}, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  if (const auto* by = std::get_if<StockShort>(&*answer)) return StockAnswer(*by);
  if (const auto* by = std::get_if<StockInProgress>(&*answer)) {
    in_vain_ = by->locked && had_turn;
    return by->locked ? lock_out(request.id, *by->locked) : StockAnswer(*by);
  }
  auto* taken = std::get_if<StockTaken>(&*answer);
  aside_.reset();
  if (wish.owner && !taken->repeated && !steps.front().prolonged) {
    const RequestRecord record{State::kReserved, wish.quantity, taken->parts, wish.owner->text(), 0};
    const Rows::Number number = taken->token.value();
    const auto locks = wish.locks ? std::optional(number) : std::nullopt;
    aside_ = Aside{request.stock, request.id, {record, number, number, 0, locks}};
  }
  return StockAnswer(std::move(*taken));
}

void RowStock::deduct(const LockName& name, Steps& steps, const std::vector<Wish>& wishes, const CallLimit& limit) {
  const bool reserves = std::any_of(wishes.begin(), wishes.end(), [](const Wish& one) { return one.owner; });
  Wish one = wishes.front();
  const auto turn = std::exchange(turn_, std::nullopt);
  const bool waited = has_waited_for(steps.front().id, one.start);
  if (locked_out_) locked_out_->waited_for.reset();
  const bool all = wants_all_locks(steps.front().id);
  const bool comes_back = (waited || turn) && !is_asked_at_once(steps.front().id);
  one.start = turn.value_or(one.start);
  if (one.locks) one.chance = static_cast<int>(spread_below(kChances));
  const auto sight_of = [&](int races) -> std::optional<Sight> {
    // Of several a blind try would serve a later one before an earlier one that no segment has alone.
    const bool tries_blindly = races == 0 && wishes.size() == 1 && (!one.locks || comes_back);
    if (tries_blindly) return std::nullopt;
    if (!one.locks) return Sight{true};
    const bool by_chance = !comes_back && one.start % kAllLocksOnceIn == 0;
    return Sight{all || by_chance || steps.front().wants_all, one.start};
  };
  const auto decide = [&](StockLook& look, int races, std::size_t i) {
    return decide_take(name, look, races, steps[i], i == 0 ? one : wishes[i]);
  };
  settle(name, steps, sight_of, reserves ? Rows::Tell::kNumber : Rows::Tell::kMade, decide, limit);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto* taken = *steps[i].answer ? std::get_if<StockTaken>(&**steps[i].answer) : nullptr;
    if (taken && (taken->repeated || !wishes[i].owner)) taken->token = {};
  }
}

Result<StockMoved> RowStock::refund(const StockRefund& refund, const CallLimit& limit) {
  Steps steps{{refund.id}};
  settle_refunds(refund.stock, steps, {refund}, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  return std::get<StockMoved>(std::move(*answer));
}

void RowStock::settle_refunds(const LockName& name, Steps& steps, const std::vector<StockRefund>& refunds,
                              const CallLimit& limit) {
  const auto decide = [&](const StockLook& look, int, std::size_t i) {
    return decide_refund(look, steps[i], refunds[i]);
  };
  const auto requests_alone = [](int) { return std::optional(Sight{}); };
  settle(name, steps, requests_alone, Rows::Tell::kMade, decide, limit);
}

Result<StockMoved> RowStock::add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) {
  Steps steps{{id}};
  const auto decide = [&](const StockLook& look, int, std::size_t) {
    return decide_restock(look, steps.front(), quantity);
  };
  const auto segments_too = [](int) { return std::optional(Sight{true}); };
  settle(name, steps, segments_too, Rows::Tell::kMade, decide, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  return std::get<StockMoved>(std::move(*answer));
}

std::vector<Result<StepAnswer>> RowStock::serve(const LockName& stock, std::span<const StockStep> steps,
                                                const CallLimit& limit) {
  std::vector<Result<StepAnswer>> answers;
  while (answers.size() < steps.size()) {
    for (Step& step : serve_together(stock, together(steps.subspan(answers.size())), limit)) {
      answers.push_back(std::move(*step.answer));
    }
    const auto lost = [](const auto& one) { return !one && one.error().code == ErrorCode::kUnavailable; };
    const auto unknown = std::find_if(answers.begin(), answers.end(), lost);
    if (unknown != answers.end()) answers.resize(steps.size(), Result<StepAnswer>(unknown->error()));
  }
  return answers;
}

Steps RowStock::serve_together(const LockName& name, std::span<const StockStep> some, const CallLimit& limit) {
  Steps steps;
  std::vector<Wish> wishes;
  std::vector<StockRefund> refunds;
  for (const StockStep& one : some) {
    steps.push_back({one.id});
    wishes.push_back({one.quantity.value_or(1), one.start});
    refunds.push_back({name, one.id, one.quantity, one.refund_id});
  }
  if (some.front().kind == StockStep::Kind::kTake) deduct(name, steps, wishes, limit);
  else if (some.front().kind == StockStep::Kind::kRefund) settle_refunds(name, steps, refunds, limit);
  else steps.front().answer = serve_one(name, some.front(), limit);
  return steps;
}

bool RowStock::is_aside(const StockRequest& request, const Owner& owner) const {
  return aside_ && aside_->stock == request.stock && aside_->id == request.id && aside_->seen.is_open_for(owner);
}

Result<void> RowStock::go_on_with(const StockRequest& request, const Owner& owner, End end, Duration ttl,
                                  const CallLimit& limit) {
  for (int races = 0;; ++races) {
    TRY(calls_.race(request.stock, races, limit));
    const bool blindly = races == 0 && is_aside(request, owner) && calls_.known(request.stock).head;
    TRY_ASSIGN(const auto look, blindly ? Result<StockLook>(calls_.known(request.stock))
                                        : this->look(request.stock, {request.id}, {}, limit));
    SeenRequest seen;
    if (blindly) seen = aside_->seen;
    else if (look.head) seen = look.requests.at(request.id);
    const bool over = !blindly && seen.is_over(look.now_us);
    auto answer = over ? std::nullopt : answer_without(request, owner, seen, end == End::kConfirm, end == End::kCancel);
    if (answer) return std::move(*answer);
    const Rows::Commit commit = over || end == End::kCancel ? return_commit(request.id, seen, *look.head)
                                : end == End::kExtend       ? extension_commit(request.id, seen, ttl)
                                                            : confirmation_commit(request.id, seen);
    aside_.reset();
    const auto tell = end == End::kExtend ? Rows::Tell::kNumber : Rows::Tell::kMade;
    TRY_ASSIGN(const auto number, calls_.commit(request.stock, commit, limit, tell));
    if (number == 0 || over) continue;
    seen.open = number;
    if (end == End::kExtend) aside_ = Aside{request.stock, request.id, std::move(seen)};
    return {};
  }
}

}  // namespace

std::unique_ptr<Stock> row_stock(std::unique_ptr<Rows> rows, Clock& clock) {
  return std::make_unique<RowStock>(std::move(rows), clock);
}

}  // namespace dlock
