// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/row_stock.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "lib/stock/segment_plan.h"
#include "lib/stock/stock_calls.h"
#include "lib/stock/stock_decisions.h"
#include "lib/stock/stock_look.h"
#include "lib/stock/stock_rows.h"

namespace dlock {
namespace {

using State = RequestRecord::State;

constexpr std::size_t kMostSwept = 200;       ///< reservations that are looked at in one go
constexpr std::size_t kMostTransfers = 1000;  ///< between segments, in one commit

class RowStock final : public Stock {
 public:
  RowStock(std::unique_ptr<Rows> rows, Clock& clock) : calls_(std::move(rows), clock) {}

  const std::string& store() const override { return calls_.store(); }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override;
  Result<StockState> show(const LockName& name, const CallLimit& limit) override;
  Result<std::vector<LockName>> names(const CallLimit& limit) override {
    return calls_.until_answered([&] { return calls_.rows().groups(limit); }, limit);
  }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return deduct_one(request, {request.quantity, start, request.only_segment}, limit);
  }
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return deduct_one(request, {request.quantity, start, request.only_segment, &owner, ttl}, limit);
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

  Result<StockParts> refund(const StockRefund& refund, const CallLimit& limit) override;
  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override;
  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override;

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override { return level(name, 0, limit); }
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return level(name, segments, limit);
  }
  Result<void> drop(const LockName& name, const CallLimit& limit) override;

 private:
  Result<StockLook> look(const LockName& name, const std::vector<LockName>& ids, bool all, const CallLimit& limit) {
    return calls_.look(name, ids, all, limit);
  }
  template <typename Decide>
  void settle(const LockName& name, Steps& steps, bool all, Rows::Tell tell, Decide decide, const CallLimit& limit);
  template <typename Decide>
  void settle_once(const LockName& name, Steps& steps, Rows::Tell tell, Decide decide, const CallLimit& limit);
  void sweep_for(const LockName& name, Steps& steps, const CallLimit& limit);

  void deduct(const LockName& name, Steps& steps, const std::vector<Wish>& wishes, const CallLimit& limit);
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
  Result<std::vector<LockName>> open_ids(const LockName& name, const CallLimit& limit);
  Result<int> sweep(const LockName& name, const CallLimit& limit);
  Result<int> give_back_over(const LockName& name, const StockLook& look, const CallLimit& limit);

  // Levelling.
  Result<void> level(const LockName& name, int segments, const CallLimit& limit);
  Result<bool> use_segments(const LockName& name, StockHead head, int segments, const CallLimit& limit);

  StockCalls calls_;
  std::optional<Aside> aside_;  ///< the last reservation of ours
};

/// Until all steps have their answers. `decide(look, races, i)` is asked first with what is known of the stock, so that
/// the look may have neither requests nor segments.
template <typename Decide>
void RowStock::settle(const LockName& name, Steps& steps, bool all, Rows::Tell tell, Decide decide,
                      const CallLimit& limit) {
  for (int races = 0;; ++races) {
    std::vector<LockName> ids;
    for (const Step& step : steps) {
      if (!step.answer) ids.push_back(step.id);
    }
    if (ids.empty()) return;
    const auto in_time = calls_.race(name, races, limit);
    const bool blindly = races == 0 && all && calls_.known(name).head;
    auto seen = !in_time  ? Result<StockLook>(in_time.error())
                : blindly ? Result<StockLook>(calls_.known(name))
                          : look(name, ids, all && races > 0, limit);
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

/// Those that were short look again if something came back whose time was over.
void RowStock::sweep_for(const LockName& name, Steps& steps, const CallLimit& limit) {
  const auto is_unmet = [](const Step& step) { return !step.answer && step.unmet; };
  if (std::none_of(steps.begin(), steps.end(), is_unmet)) return;
  const auto swept = sweep(name, limit);
  for (Step& step : steps) {
    if (!is_unmet(step)) continue;
    if (!swept) step.answer = swept.error();
    else if (*swept == 0) step.answer = *step.promised;
    step.unmet = false;
  }
}

Result<StockAnswer> RowStock::deduct_one(const StockRequest& request, const Wish& wish, const CallLimit& limit) {
  Steps steps{{request.id}};
  deduct(request.stock, steps, {wish}, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  if (const auto* by = std::get_if<StockShort>(&*answer)) return StockAnswer(*by);
  auto* taken = std::get_if<StockTaken>(&*answer);
  if (taken == nullptr) return StockAnswer(StockInProgress{});
  aside_.reset();
  if (wish.owner && !taken->repeated && !steps.front().prolonged) {
    const RequestRecord record{State::kReserved, wish.quantity, taken->parts, wish.owner->text(), 0};
    aside_ = Aside{request.stock, request.id, {record, taken->token.value(), taken->token.value()}};
  }
  return StockAnswer(std::move(*taken));
}

void RowStock::deduct(const LockName& name, Steps& steps, const std::vector<Wish>& wishes, const CallLimit& limit) {
  const auto decide = [&](StockLook& look, int races, std::size_t i) {
    return decide_take(name, look, races, steps[i], wishes[i]);
  };
  const bool reserves = std::any_of(wishes.begin(), wishes.end(), [](const Wish& one) { return one.owner; });
  settle(name, steps, true, reserves ? Rows::Tell::kNumber : Rows::Tell::kMade, decide, limit);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto* taken = *steps[i].answer ? std::get_if<StockTaken>(&**steps[i].answer) : nullptr;
    if (taken && (taken->repeated || !wishes[i].owner)) taken->token = {};
  }
}

Result<StockParts> RowStock::refund(const StockRefund& refund, const CallLimit& limit) {
  Steps steps{{refund.id}};
  settle_refunds(refund.stock, steps, {refund}, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  return std::get<StockParts>(std::move(*answer));
}

void RowStock::settle_refunds(const LockName& name, Steps& steps, const std::vector<StockRefund>& refunds,
                              const CallLimit& limit) {
  const auto decide = [&](const StockLook& look, int, std::size_t i) {
    return decide_refund(look, steps[i], refunds[i]);
  };
  settle(name, steps, false, Rows::Tell::kMade, decide, limit);
}

Result<StockParts> RowStock::add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) {
  Steps steps{{id}};
  const auto decide = [&](const StockLook& look, int, std::size_t) {
    return look.segments.empty() ? Rows::Commit() : decide_restock(look, steps.front(), quantity);
  };
  settle(name, steps, true, Rows::Tell::kMade, decide, limit);
  Result<StepAnswer>& answer = *steps.front().answer;
  if (!answer) return answer.error();
  return std::get<StockParts>(std::move(*answer));
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
                                        : this->look(request.stock, {request.id}, false, limit));
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
    TRY_ASSIGN(const auto number, calls_.commit(request.stock, commit, limit));
    if (number == 0 || over) continue;
    seen.open = number;
    if (end == End::kExtend) aside_ = Aside{request.stock, request.id, std::move(seen)};
    return {};
  }
}

Result<std::vector<LockName>> RowStock::open_ids(const LockName& name, const CallLimit& limit) {
  TRY_ASSIGN(const auto keys, calls_.until_answered([&] { return calls_.rows().list(name, kOpenRows, limit); }, limit));
  std::vector<LockName> ids;
  for (const std::string& key : keys) {
    auto id = LockName::parse(std::string_view(key).substr(std::string_view(kOpenRows).size()));
    if (!id) return broken_stock(name, "'" + key + "' among its reservations is not a request");
    ids.push_back(std::move(*id));
  }
  return ids;
}

/// Gives back what is over; says how many came back.
Result<int> RowStock::sweep(const LockName& name, const CallLimit& limit) {
  TRY_ASSIGN(const auto ids, open_ids(name, limit));
  int swept = 0;
  for (std::size_t at = 0; at < ids.size(); at += kMostSwept) {
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), at + kMostSwept));
    TRY_ASSIGN(const auto seen, look(name, {ids.begin() + static_cast<std::ptrdiff_t>(at), end}, false, limit));
    TRY_ASSIGN(const int back, give_back_over(name, seen, limit));
    swept += back;
  }
  return swept;
}

Result<int> RowStock::give_back_over(const LockName& name, const StockLook& look, const CallLimit& limit) {
  std::vector<Rows::Commit> commits;
  for (const auto& [id, seen] : look.requests) {
    if (look.head && seen.is_over(look.now_us)) commits.push_back(return_commit(id, seen, *look.head));
  }
  if (commits.empty()) return 0;
  for (const auto& number : calls_.commit_each(name, commits, Rows::Tell::kMade, limit)) {
    if (!number) return number.error();
  }
  return static_cast<int>(commits.size());  // who was faster has given it back, or prolonged it
}

Result<void> RowStock::create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                              const CallLimit& limit) {
  Rows::Commit commit{{.key = kHeadRow, .text = head_text({segments, segments, quantity, 0, maker.text()})}};
  int segment = 0;
  for (const Quantity each : spread(quantity, segments)) {
    commit.push_back({.key = segment_row(segment++), .text = counts_text({each})});
  }
  for (int races = 0;; ++races) {
    TRY(calls_.race(name, races, limit));
    TRY_ASSIGN(const auto seen, look(name, {}, false, limit));
    if (seen.head) return seen.head->maker == maker.text() ? Result<void>() : stock_exists(name, store());
    TRY_ASSIGN(const auto made, calls_.commit(name, commit, limit));
    if (made != 0) return {};
  }
}

Result<StockState> RowStock::show(const LockName& name, const CallLimit& limit) {
  while (true) {
    TRY_ASSIGN(const auto ids, open_ids(name, limit));
    TRY_ASSIGN(const auto seen, look(name, ids, true, limit));
    if (!seen.head) return no_such_stock(name, store());
    TRY_ASSIGN(const int back, give_back_over(name, seen, limit));
    if (back > 0) continue;
    const StockHead& head = *seen.head;
    StockState state{.name = name, .segments = {}, .created = head.created, .added = head.added};
    state.segments.resize(static_cast<std::size_t>(head.segments));
    for (int i = 0; i < head.rows; ++i) {
      const SegmentCounts& counts = seen.segments[static_cast<std::size_t>(i)];
      StockSegment& home = state.segments[static_cast<std::size_t>(dlock::home_of(i, head.segments))];
      home.quantity += counts.quantity;
      home.reserved += counts.reserved;
      state.taken += counts.taken - counts.reserved;
      state.refunded += counts.refunded;
    }
    for (const auto& [id, request] : seen.requests) state.open += request.is_open() ? 1 : 0;
    return state;
  }
}

/// One commit says how many segments are used (0: as many as are), and then items are moved: all at once, or fewer
/// while others are faster.
Result<void> RowStock::level(const LockName& name, int segments, const CallLimit& limit) {
  std::size_t most = kMostTransfers;
  for (int races = 0;; ++races) {
    TRY(calls_.race(name, races, limit));
    TRY_ASSIGN(const auto seen, look(name, {}, true, limit));
    if (!seen.head) return no_such_stock(name, store());
    if (segments != 0 && segments != seen.head->segments) {
      TRY_ASSIGN(const bool used, use_segments(name, *seen.head, segments, limit));
      if (used) segments = 0, races = -1;
      continue;
    }
    const auto have = seen.quantities();
    auto want = spread(seen.available(), seen.head->segments);
    want.resize(have.size());
    const auto plan = transfers(have, want);
    if (plan.empty()) return {};
    const auto some = std::span(plan).first(std::min(most, plan.size()));
    TRY_ASSIGN(const auto moved, calls_.commit(name, move_commit(by_segment(some, have.size()), *seen.head), limit));
    if (moved != 0 && some.size() == plan.size()) return {};
    most = moved == 0 ? std::max<std::size_t>(1, some.size() / 2) : 2 * most;
    if (moved != 0) races = -1;
  }
}

Result<bool> RowStock::use_segments(const LockName& name, StockHead head, int segments, const CallLimit& limit) {
  Rows::Commit commit;
  for (int i = head.rows; i < segments; ++i) commit.push_back({.key = segment_row(i), .text = counts_text({})});
  head.segments = segments;
  head.rows = std::max(head.rows, segments);
  commit.push_back({.key = kHeadRow, .version = head.version, .text = head_text(head)});
  TRY_ASSIGN(const auto number, calls_.commit(name, commit, limit));
  return number != 0;
}

/// Whatever it says: one that makes no sense can be dropped.
Result<void> RowStock::drop(const LockName& name, const CallLimit& limit) {
  const std::vector<std::string> head{kHeadRow};
  for (int races = 0;; ++races) {
    TRY(calls_.race(name, races, limit));
    TRY_ASSIGN(const auto seen, calls_.until_answered([&] { return calls_.rows().read(name, head, limit); }, limit));
    const Rows::Number version = seen.rows.front().version;
    if (version == 0) return calls_.is_unsure() ? Result<void>() : no_such_stock(name, store());
    const Rows::Commit commit{{Rows::Change::Kind::kCheck, kHeadRow, version}, {.kind = Rows::Change::Kind::kClear}};
    TRY_ASSIGN(const auto gone, calls_.commit(name, commit, limit));
    if (gone != 0) return {};
  }
}

}  // namespace

std::unique_ptr<Stock> row_stock(std::unique_ptr<Rows> rows, Clock& clock) {
  return std::make_unique<RowStock>(std::move(rows), clock);
}

}  // namespace dlock
