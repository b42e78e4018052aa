// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_slots.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/native/store.h"
#include "backends/redis/stock/scripts.h"
#include "backends/redis/stock/stock_answer.h"
#include "backends/redis/stock/stock_at_once.h"
#include "backends/redis/stock/stock_batch.h"
#include "backends/redis/stock/stock_calls.h"
#include "backends/redis/stock/stock_words.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// How long a refused attempt is: longer than a commit of it can be on its way.
constexpr Duration kKeepRefused = std::chrono::days(1);

class RedisStockSlots final : public StockSlots {
 public:
  RedisStockSlots(std::unique_ptr<Deployment> deployment, std::string store, const StockSpace& space,
                  ReplicaDemand replicas, const Runtime& runtime)
      : store_(store),
        space_(space),
        calls_(std::move(deployment), std::move(store), space, replicas, runtime.clock),
        runtime_(runtime) {}

  const std::string& store() const override { return store_; }
  int count() const override { return space_.slots; }

  Result<std::string> create(const StockPlace& place, const Owner& maker, const std::string& born,
                             const std::string& making, Quantity created, int segments,
                             const std::vector<Quantity>& places, const CallLimit& limit) override {
    std::vector<std::string> arguments{maker.text(), born, making, std::to_string(segments), std::to_string(created)};
    for (const Quantity each : places) arguments.push_back(std::to_string(each));
    const auto answer = run(stock_scripts::kCreate, place, std::move(arguments), limit);
    if (!answer) return answer.error();
    if (answer->has("made", 1)) return answer->text(1);
    if (answer->is("dropping")) return Error{ErrorCode::kBusy, place.stock.text() + " is being dropped", ""};
    return answer->is("exists") ? stock_exists(place.stock, store_) : not_understood();
  }
  Result<void> made(const StockPlace& place, const std::string& made, const CallLimit& limit) override {
    return ok(run(stock_scripts::kMade, place, {made}, limit));
  }
  Result<Marked> mark_dropping(const StockPlace& place, const CallLimit& limit) override {
    const auto answer = run(stock_scripts::kMarkDropping, place, {}, limit);
    if (!answer) return answer.error();
    return answer->has("ok", 2) ? Result<Marked>(Marked{answer->text(1), answer->text(2)}) : not_understood();
  }
  Result<void> drop(const StockPlace& place, const std::string& made, const std::string& born,
                    const CallLimit& limit) override {
    return ok(run(stock_scripts::kDrop, place, {made, born}, limit));
  }
  Result<std::vector<LockName>> names(const CallLimit& limit) override;

  Result<SlotView> read_state(const StockPlace& place, const CallLimit& limit) override;
  Result<FencingToken> token(const StockPlace& place, const CallLimit& limit) override {
    const auto answer = run(stock_scripts::kToken, place, {}, limit);
    if (!answer) return answer.error();
    auto token = FencingToken::parse(answer->text(1));
    return token ? std::move(token) : not_understood();
  }

  Result<SlotAnswer> take(const StockPlace& place, const SlotTake& take, const CallLimit& limit) override {
    if (const auto segment = at_once_.segment(place, take)) {
      auto taken = take_at_once(place, take.request, *segment, limit);
      if (!taken) return taken.error();
      if (*taken) return SlotAnswer{StockTaken{{{*segment, take.request.quantity}}, {}, false}, ""};
    }
    return take_at_length(place, take, limit);
  }
  Result<SlotAnswer> commit(const StockPlace& place, const SlotTake& take, const SlotAttempt& attempt,
                            const CallLimit& limit) override {
    const StockRequest& request = take.request;
    return answers_.deduction(
        request, run_for(request.id, stock_scripts::kCommit, place,
                         {request.id.text(), std::to_string(request.quantity), milliseconds(kKeepRequests), take.owner,
                          milliseconds(take.ttl), attempt.id, parts_text(attempt.parts, ','), attempt.made},
                         limit));
  }
  Result<AttemptFate> ask_fate(const StockPlace& place, const SlotView::Held& held, const CallLimit& limit) override {
    const auto id = LockName::parse(held.id);
    if (!id) return id.error();
    const auto answer =
        run_for(*id, stock_scripts::kFate, place, {held.id, held.attempt, milliseconds(kKeepRefused)}, limit);
    if (!answer) return answer.error();
    if (answer->is("committed")) return AttemptFate{AttemptFate::Kind::kCommitted};
    if (answer->is("refused")) return AttemptFate{AttemptFate::Kind::kRefused};
    if (!answer->has("open", 1)) return not_understood();
    return AttemptFate{AttemptFate::Kind::kOpen, std::chrono::milliseconds(answer->quantity(1))};
  }

  Result<void> extend(const StockRequest& request, int slot, const Owner& owner, Duration ttl,
                      const CallLimit& limit) override {
    const auto answer = run_for(request.id, stock_scripts::kExtend, {request.stock, slot},
                                {request.id.text(), owner.text(), milliseconds(ttl)}, limit);
    if (answer && answer->is("over")) return reservation_over(request.stock, request.id);
    return ok(answer);
  }
  Result<SlotParts> confirm(const StockRequest& request, int slot, const Owner& owner,
                            const CallLimit& limit) override {
    return answers_.sale(request, run_for(request.id, stock_scripts::kConfirm, {request.stock, slot},
                                          confirm_words(request.id, owner), limit));
  }
  Result<SlotParts> cancel(const StockRequest& request, int slot, const Owner& owner, const CallLimit& limit) override {
    return answers_.cancellation(request, run_for(request.id, stock_scripts::kCancel, {request.stock, slot},
                                                  {request.id.text(), owner.text()}, limit));
  }
  Result<SlotChange> refund(const StockPlace& place, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override {
    return answers_.refund(id, quantity, run_for(id, stock_scripts::kRefund, place, refund_words(id, quantity), limit));
  }
  Result<SlotChange> add(const StockPlace& place, const LockName& id, Quantity quantity, const StockParts& parts,
                         const CallLimit& limit) override {
    return answers_.restock(id, quantity,
                            run_for(id, stock_scripts::kAdd, place, add_words(id, quantity, parts), limit));
  }
  std::vector<Result<StepAnswer>> serve(const StockPlace& place, std::span<const StockStep> steps,
                                        const CallLimit& limit) override;
  Result<void> delivered(const StockPlace& place, const std::string& id, const CallLimit& limit) override {
    return ok(run(stock_scripts::kDelivered, place, {id}, limit));
  }

  Result<bool> hold(const StockPlace& place, const SlotAttempt& attempt, const LockName& id, Duration ttl,
                    const CallLimit& limit) override {
    const auto answer =
        run(stock_scripts::kHold, place,
            {attempt.made, id.text(), attempt.id, parts_text(attempt.parts, ','), milliseconds(ttl)}, limit);
    if (!answer) return answer.error();
    return answer->is("held");
  }
  Result<void> end_hold(const StockPlace& place, const std::string& attempt, HeldEnd end,
                        const CallLimit& limit) override {
    return ok(run(stock_scripts::kEndHold, place, {attempt, end == HeldEnd::kConfirm ? "confirm" : "cancel"}, limit));
  }
  Result<void> extend_hold(const StockPlace& place, const std::string& attempt, Duration ttl,
                           const CallLimit& limit) override {
    return ok(run(stock_scripts::kExtendHold, place, {attempt, milliseconds(ttl)}, limit));
  }
  Result<void> deliver(const StockPlace& place, const PendingCredit& credit, const std::string& made,
                       const CallLimit& limit) override {
    const StockNames& n = names_in(place);
    const char* book = credit.book == PendingCredit::Book::kAdded ? "added" : "refunded";
    return ok(call(stock_scripts::kDeliver, place, n, n.delivered + credit.id,
                   {made, book, parts_text(credit.parts, ','), milliseconds(kKeepRequests)}, limit));
  }

  Result<void> level(const StockPlace& place, std::optional<int> segments, const CallLimit& limit) override {
    return ok(run(stock_scripts::kLevel, place, {segments ? std::to_string(*segments) : ""}, limit));
  }
  Result<bool> begin_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                               const CallLimit& limit) override {
    const auto answer =
        run(stock_scripts::kBeginLevelling, place, {made, std::to_string(plan.epoch), levelling_text(plan)}, limit);
    if (!answer) return answer.error();
    return answer->is("ok");
  }
  Result<void> end_levelling(const StockPlace& place, const Levelling& plan, const std::string& made,
                             const CallLimit& limit) override {
    return ok(
        run(stock_scripts::kEndLevelling, place, {made, std::to_string(plan.epoch), levelling_text(plan)}, limit));
  }
  Result<void> keep_still(const StockPlace& place, Duration ttl, const CallLimit& limit) override {
    return ok(run(stock_scripts::kKeepStill, place, {milliseconds(ttl)}, limit));
  }
  Result<std::optional<Poured>> pour_out(const StockPlace& place, const Levelling& plan, const std::string& made,
                                         const CallLimit& limit) override {
    const Quantity target = plan.targets[static_cast<std::size_t>(place.slot)];
    const auto answer =
        run(stock_scripts::kPourOut, place,
            {made, std::to_string(plan.epoch), std::to_string(plan.segments), std::to_string(target)}, limit);
    if (!answer) return answer.error();
    if (answer->is("over")) return std::optional<Poured>();
    if (!answer->has("out", 2)) return not_understood();
    return std::optional(Poured{answer->quantity(1), answer->quantity(2)});
  }
  Result<void> pour_in(const StockPlace& place, const Levelling& plan, Quantity quantity, const std::string& made,
                       const CallLimit& limit) override {
    return ok(run(stock_scripts::kPourIn, place, {made, std::to_string(plan.epoch), std::to_string(quantity)}, limit));
  }

 private:
  Error not_understood() const { return answers_.not_understood(); }
  Result<void> ok(const Result<StockReply>& answer) const { return answers_.ok(answer); }

  /// Those of the stock that was asked for last stay at hand.
  const StockNames& names_in(const StockPlace& place) {
    if (place.stock.text() != named_) names_.clear();
    named_ = place.stock.text();
    const auto [at, is_new] = names_.try_emplace(place.slot);
    if (is_new) at->second = space_.names(place.stock, place.slot);
    return at->second;
  }

  Result<bool> take_at_once(const StockPlace& place, const StockRequest& request, int segment, const CallLimit& limit);
  Result<SlotAnswer> take_at_length(const StockPlace& place, const SlotTake& take, const CallLimit& limit);
  Result<StepAnswer> take_alone(const StockPlace& place, const StockStep& step, const CallLimit& limit) {
    auto got = take(place, {{place.stock, step.id, step.quantity.value_or(1)}, "", {}, step.start}, limit);
    return got ? Result<StepAnswer>(step_answer(std::move(got->answer))) : got.error();
  }

  Result<StockReply> run(const char* script, const StockPlace& place, std::vector<std::string> arguments,
                         const CallLimit& limit) {
    const StockNames& n = names_in(place);
    return call(script, place, n, n.meta, std::move(arguments), limit);
  }
  Result<StockReply> run_for(const LockName& id, const char* script, const StockPlace& place,
                             std::vector<std::string> arguments, const CallLimit& limit) {
    const StockNames& n = names_in(place);
    return call(script, place, n, n.request + id.text(), std::move(arguments), limit);
  }
  Result<StockReply> call(const char* script, const StockPlace& place, const StockNames& n, const std::string& record,
                          std::vector<std::string> arguments, const CallLimit& limit);
  Result<StockReply> answer_of(const LockName& stock, Reply reply) const;
  Error failed_script(const LockName& stock, const Reply& error) const;
  bool is_no_tair(const Reply& reply) const {
    return space_.counters == StockCounters::kTair && reply.is_error() &&
           reply.text.find("Unknown Redis command") != std::string::npos;
  }
  Error no_tair(const Reply& reply) const {
    return {ErrorCode::kUnsupported, store_ + " is no Tair: it answered \"" + words_of(reply) + "\"",
            "use redis:// for it"};
  }

  const std::string store_;
  const StockAnswers answers_{store_};
  const StockSpace space_;
  std::string named_;
  std::map<int, StockNames> names_;  ///< of the stock `named_`, by slot
  TakesAtOnce at_once_{space_.slots};
  StockCalls calls_;
  const Runtime runtime_;
};

/// False: it is no such take, and nothing has changed. That script says no more of any trouble.
Result<bool> RedisStockSlots::take_at_once(const StockPlace& place, const StockRequest& request, int segment,
                                           const CallLimit& limit) {
  const StockNames& n = names_in(place);
  std::vector<Command> one;  // braces would copy it
  one.push_back(calls_.take_at_once(n, n.request + request.id.text()));
  append(one.front(),
         {std::to_string(segment), std::to_string(at_once_.segments(place)), std::to_string(request.quantity)});
  const auto replies = calls_.exchange(n, std::move(one), limit);
  if (!replies) return replies.error();
  return replies->front().integer == 1;
}

Result<SlotAnswer> RedisStockSlots::take_at_length(const StockPlace& place, const SlotTake& take,
                                                   const CallLimit& limit) {
  const StockRequest& request = take.request;
  const auto answer =
      run_for(request.id, stock_scripts::kTake, place, take_words(request, take.start, take.owner, take.ttl), limit);
  const bool as_most_are = answer && answer->has("taken", 2);
  at_once_.note(place, as_most_are ? static_cast<int>(answer->quantity(2)) : 0);
  return answers_.deduction(request, answer);
}

Result<SlotView> RedisStockSlots::read_state(const StockPlace& place, const CallLimit& limit) {
  const auto answer = run(stock_scripts::kReadState, place, {}, limit);
  if (!answer) return answer.error();
  if (!answer->has("state", 17)) return not_understood();
  SlotView view;
  view.created = answer->quantity(1);
  view.added = answer->quantity(2);
  view.taken = answer->quantity(3);
  view.refunded = answer->quantity(4);
  view.open = answer->quantity(5);
  const auto& have = answer->list(6);
  const auto& aside = answer->list(7);
  for (std::size_t i = 0; i < have.size() && i < aside.size(); ++i) {
    const auto quantity = parse_quantity(have[i].text, 0);
    const auto reserved = parse_quantity(aside[i].text, 0);
    if (!quantity || !reserved) return not_understood();
    view.places.push_back({*quantity, *reserved});
  }
  view.made = answer->text(8);
  view.born = answer->text(9);
  view.dropping = !answer->text(10).empty();
  view.making = answer->text(11);
  view.segments = static_cast<int>(answer->quantity(12));
  view.epoch = answer->quantity(13);
  view.levelling = answer->text(14);
  view.gains = answer->quantity(15);
  const auto& late = answer->list(16);
  for (std::size_t i = 0; i + 1 < late.size(); i += 2) view.overdue.push_back({late[i].text, late[i + 1].text});
  const auto& credit = answer->list(17);
  for (std::size_t i = 0; i + 1 < credit.size(); i += 2) {
    auto one = parse_credit(credit[i].text, credit[i + 1].text);
    if (!one) return not_understood();
    view.credits.push_back(std::move(*one));
  }
  return view;
}

Result<StockReply> RedisStockSlots::answer_of(const LockName& stock, Reply reply) const {
  if (is_no_tair(reply)) return no_tair(reply);
  if (auto error = error_of(reply, store_)) return *error;
  if (reply.kind != Reply::Kind::kArray || reply.elements.empty()) return not_understood();
  StockReply answer(std::move(reply));
  if (answer.is("none")) return no_such_stock(stock, store_);
  if (answer.is("broken")) return broken_stock(stock, answer.text(1));
  if (answer.is("failed")) return failed_script(stock, {Reply::Kind::kError, answer.text(1), 0, {}});
  return answer;
}

Result<StockReply> RedisStockSlots::call(const char* script, const StockPlace& place, const StockNames& n,
                                         const std::string& record, std::vector<std::string> arguments,
                                         const CallLimit& limit) {
  std::vector<Command> one;  // braces would copy it, script and all
  one.push_back(calls_.script(script, place.slot, n, record));
  append(one.front(), std::move(arguments));
  auto replies = calls_.exchange(n, std::move(one), limit);
  if (!replies) return replies.error();
  return answer_of(place.stock, std::move(replies->front()));
}

/// Either we lack a right, or a key holds what the command cannot work with.
Error RedisStockSlots::failed_script(const LockName& stock, const Reply& error) const {
  return is_denied(error) ? *error_of(error, store_) : broken_stock(stock, error.text);
}

Result<std::vector<LockName>> RedisStockSlots::names(const CallLimit& limit) {
  const auto servers = calls_.deployment().all_servers(limit.until);
  if (!servers) return servers.error();
  std::set<LockName> names;
  for (Connection* server : *servers) {
    std::string cursor = "0";
    do {
      const auto replies = exchange(*server, {{"SCAN", cursor, "MATCH", space_.meta_pattern(), "COUNT", "500"}},
                                    runtime_.clock, limit.until, limit.until, limit.control);
      if (!replies) return replies.error();
      const Reply& page = replies->front();
      if (auto error = error_of(page, store_)) return *error;
      if (page.elements.size() != 2) return not_understood();
      cursor = page.elements[0].text;
      for (const Reply& key : page.elements[1].elements) {
        const auto text = space_.stock_of_meta(key.text);
        if (!text) continue;
        if (auto name = LockName::parse(*text)) names.insert(std::move(*name));
      }
    } while (cursor != "0");
  }
  return std::vector<LockName>(names.begin(), names.end());
}

std::vector<Result<StepAnswer>> RedisStockSlots::serve(const StockPlace& place, std::span<const StockStep> steps,
                                                       const CallLimit& limit) {
  if (steps.size() == 1 && steps[0].kind == StockStep::Kind::kTake && !steps[0].owner) {
    return {take_alone(place, steps[0], limit)};
  }
  const StockNames& n = names_in(place);
  StockBatch batch(place.stock, n, steps, [&](const char* script, const std::string& record) {
    return calls_.script(script, place.slot, n, record);
  });
  auto replies = calls_.exchange(n, batch.take_scripts(), limit);
  if (!replies) return std::vector<Result<StepAnswer>>(steps.size(), replies.error());
  std::vector<Result<StepAnswer>> answers;
  answers.reserve(steps.size());
  for (std::size_t i = 0; i < replies->size(); ++i) {
    batch.read(i, answer_of(place.stock, std::move((*replies)[i])), answers_, answers);
  }
  return answers;
}

}  // namespace

std::unique_ptr<StockSlots> make_stock_slots(std::unique_ptr<Deployment> deployment, std::string store,
                                             const StockSpace& space, ReplicaDemand replicas, const Runtime& runtime) {
  return std::make_unique<RedisStockSlots>(std::move(deployment), std::move(store), space, replicas, runtime);
}

}  // namespace dlock::redis
