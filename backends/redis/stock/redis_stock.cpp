// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/redis_stock.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "backends/redis/deployment/errors.h"
#include "backends/redis/deployment/record.h"
#include "backends/redis/stock/scripts.h"
#include "backends/redis/stock/stock_answer.h"
#include "backends/redis/stock/stock_batch.h"
#include "backends/redis/stock/stock_calls.h"
#include "backends/redis/stock/stock_scripts.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStockConnectTimeout = 5s;

StockCounters counters_of(const BackendUrl& url) {
  if (url.scheme == "tair") return StockCounters::kTair;
  return url.param("stock") == "decr" ? StockCounters::kPlain : StockCounters::kHash;
}

class RedisStock final : public Stock {
 public:
  RedisStock(std::unique_ptr<Deployment> deployment, std::string store, StockCounters counters, ReplicaDemand replicas,
             const Runtime& runtime)
      : store_(store),
        space_{counters},
        calls_(std::move(deployment), std::move(store), space_, replicas, runtime.clock),
        runtime_(runtime) {}

  const std::string& store() const override { return store_; }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override {
    if (space_.counters == StockCounters::kTair) {  // where a stock was spread without a word about it
      if (auto fits = refuse_spread(name, limit); !fits) return fits;
    }
    std::vector<std::string> arguments{maker.text(), std::to_string(quantity)};
    for (const Quantity each : spread(quantity, segments)) arguments.push_back(std::to_string(each));
    const auto answer = run(stock_scripts::kCreate, name, std::move(arguments), limit);
    if (!answer) return answer.error();
    if (answer->is("made")) return {};
    return answer->is("exists") ? stock_exists(name, store_) : not_understood();
  }

  Result<StockState> show(const LockName& name, const CallLimit& limit) override {
    const auto answer = run(stock_scripts::kReadState, name, {}, limit);
    if (!answer) return answer.error();
    if (!answer->has("state", 7)) return not_understood();
    StockState state{.name = name, .segments = {}};
    state.created = answer->quantity(1);
    state.added = answer->quantity(2);
    state.taken = answer->quantity(3);
    state.refunded = answer->quantity(4);
    state.open = answer->quantity(5);
    const auto& have = answer->list(6);
    const auto& aside = answer->list(7);
    for (std::size_t i = 0; i < have.size() && i < aside.size(); ++i) {
      const auto quantity = parse_quantity(have[i].text, 0);
      const auto reserved = parse_quantity(aside[i].text, 0);
      if (!quantity || !reserved) return not_understood();
      state.segments.push_back({*quantity, *reserved});
    }
    return state;
  }

  Result<std::vector<LockName>> names(const CallLimit& limit) override {
    return names_like(space_.meta_pattern(), &StockSpace::stock_of_meta, limit);
  }

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    if (const auto segment = at_once_.segment(request, start)) {
      auto taken = take_at_once(request, *segment, limit);
      if (!taken) return taken.error();
      if (*taken) return StockAnswer(StockTaken{{{*segment, request.quantity}}, {}, false});
    }
    return take_at_length(request, start, "", Duration(0), limit);
  }

  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return take_at_length(request, start, owner.text(), ttl, limit);
  }
  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override {
    const auto answer = run_for(request.id, stock_scripts::kExtend, request.stock,
                                {request.id.text(), owner.text(), ms_text(ttl)}, limit);
    const bool over = answer ? answer->is("over") : answer.error().code == ErrorCode::kMisconfigured;
    return over ? reservation_over(request.stock, request.id) : answers_.ok(answer);
  }
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return answers_.sale(
        request, run_for(request.id, stock_scripts::kConfirm, request.stock, confirm_words(request.id, owner), limit));
  }
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return answers_.cancellation(
        request, run_for(request.id, stock_scripts::kCancel, request.stock, {request.id.text(), owner.text()}, limit));
  }
  Result<StockParts> refund(const StockRefund& refund, const CallLimit& limit) override {
    return answers_.refund(refund,
                           run_for(refund.id, stock_scripts::kRefund, refund.stock, refund_words(refund), limit));
  }
  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override {
    return answers_.restock(id, quantity, run_for(id, stock_scripts::kAdd, name, add_words(id, quantity), limit));
  }

  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override {
    if (steps.size() == 1 && steps[0].kind == StockStep::Kind::kTake) {
      return {serve_one(stock, steps[0], limit)};
    }
    const StockNames& n = names_of(stock);
    StockBatch batch(stock, n, steps,
                     [&](const char* script, const std::string& record) { return calls_.script(script, n, record); });
    auto replies = calls_.exchange(n, batch.take_scripts(), limit);
    if (!replies) return std::vector<Result<StepAnswer>>(steps.size(), replies.error());
    std::vector<Result<StepAnswer>> answers;
    answers.reserve(steps.size());
    for (std::size_t i = 0; i < replies->size(); ++i) {
      batch.read(i, answer_of(stock, std::move((*replies)[i]), limit), answers_, answers);
    }
    return answers;
  }

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override {
    return answers_.ok(run(stock_scripts::kLevel, name, {""}, limit));
  }
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return answers_.ok(run(stock_scripts::kLevel, name, {std::to_string(segments)}, limit));
  }
  Result<void> drop(const LockName& name, const CallLimit& limit) override {
    return answers_.ok(run(stock_scripts::kDrop, name, {}, limit));
  }

 private:
  Error not_understood() const { return answers_.not_understood(); }

  /// Those of the stock that was asked for last stay at hand.
  const StockNames& names_of(const LockName& stock) {
    if (stock.text() != named_ || names_.meta.empty()) names_ = space_.names(stock);
    named_ = stock.text();
    return names_;
  }

  using NameOfKey = std::optional<std::string> (StockSpace::*)(std::string_view key) const;

  Result<std::vector<LockName>> names_like(const std::string& pattern, NameOfKey name_of, const CallLimit& limit) {
    const KeysOf keys{pattern, [&](std::string_view key) { return (space_.*name_of)(key); }};
    return redis::names_of(calls_.deployment(), keys, store_, runtime_.clock, limit.until,
                           limit.until - runtime_.clock.now(), limit.control);
  }

  /// A dlock before this one spread a stock over several slots of a cluster, in keys that nothing reads any more.
  Result<void> refuse_spread(const LockName& stock, const CallLimit& limit) {
    const auto spread = names_like(space_.spread_pattern(stock), &StockSpace::stock_of_spread_meta, limit);
    if (!spread || std::find(spread->begin(), spread->end(), stock) == spread->end()) return {};
    return Error{ErrorCode::kMisconfigured,
                 "the stock " + stock.text() + " on " + store_ +
                     " is spread over several slots by an older dlock, which this one does not read",
                 "with that dlock, end its sales (stock show says what is left) and drop it; then create it here"};
  }

  /// False: it is not such a take, and nothing has changed. That script reports no details of any trouble.
  Result<bool> take_at_once(const StockRequest& request, int segment, const CallLimit& limit) {
    const StockNames& n = names_of(request.stock);
    std::vector<Command> one;  // braces would copy it
    one.push_back(calls_.take_at_once(n, n.request + request.id.text()));
    append(one.front(),
           {std::to_string(segment), std::to_string(at_once_.segments()), std::to_string(request.quantity)});
    const auto replies = calls_.exchange(n, std::move(one), limit);
    if (!replies) return replies.error();
    return replies->front().integer == 1;
  }

  Result<StockAnswer> take_at_length(const StockRequest& request, int start, const std::string& owner, Duration ttl,
                                     const CallLimit& limit) {
    const auto answer =
        run_for(request.id, stock_scripts::kTake, request.stock, take_words(request, start, owner, ttl), limit);
    const bool as_most_are = answer && answer->has("taken", 2);
    at_once_.note(request.stock, as_most_are ? static_cast<int>(answer->quantity(2)) : 0);
    return answers_.deduction(request, answer);
  }

  Result<StockReply> run(const char* script, const LockName& stock, std::vector<std::string> arguments,
                         const CallLimit& limit) {
    return call(script, stock, names_of(stock).meta, std::move(arguments), limit);
  }
  Result<StockReply> run_for(const LockName& id, const char* script, const LockName& stock,
                             std::vector<std::string> arguments, const CallLimit& limit) {
    return call(script, stock, names_of(stock).request + id.text(), std::move(arguments), limit);
  }

  Result<StockReply> call(const char* script, const LockName& stock, const std::string& record,
                          std::vector<std::string> arguments, const CallLimit& limit) {
    const StockNames& n = names_of(stock);
    std::vector<Command> one;  // braces would copy it, script and all
    one.push_back(calls_.script(script, n, record));
    append(one.front(), std::move(arguments));
    auto replies = calls_.exchange(n, std::move(one), limit);
    if (!replies) return replies.error();
    return answer_of(stock, std::move(replies->front()), limit);
  }

  Result<StockReply> answer_of(const LockName& stock, Reply reply, const CallLimit& limit) {
    if (is_no_tair(reply)) return no_tair(reply);
    if (auto error = error_of(reply, store_)) return *error;
    if (reply.kind != Reply::Kind::kArray || reply.elements.empty()) return not_understood();
    StockReply answer(std::move(reply));
    if (answer.is("none")) {
      auto fits = refuse_spread(stock, limit);
      return fits ? no_such_stock(stock, store_) : fits.error();
    }
    if (answer.is("broken")) return broken_stock(stock, answer.text(1));
    if (answer.is("failed")) return failed_script(stock, {Reply::Kind::kError, answer.text(1), 0, {}});
    return answer;
  }

  /// Either we lack a right, or a key holds what the command cannot work with.
  Error failed_script(const LockName& stock, const Reply& error) const {
    return is_denied(error) ? *error_of(error, store_) : broken_stock(stock, error.text);
  }

  bool is_no_tair(const Reply& reply) const {
    return space_.counters == StockCounters::kTair && reply.is_error() &&
           reply.text.find("Unknown Redis command") != std::string::npos;
  }
  Error no_tair(const Reply& reply) const {
    return {ErrorCode::kUnsupported, store_ + " is not a Tair: it answered \"" + words_of(reply) + "\"",
            "use redis:// for it"};
  }

  const std::string store_;
  const StockAnswers answers_{store_};
  const StockSpace space_;
  std::string named_;
  StockNames names_;  ///< of the stock `named_`
  TakesAtOnce at_once_;
  StockCalls calls_;
  const Runtime runtime_;
};

}  // namespace

std::unique_ptr<Stock> make_stock(std::unique_ptr<Deployment> deployment, std::string store, StockCounters counters,
                                  const ReplicaDemand& replicas, const Runtime& runtime) {
  return std::make_unique<RedisStock>(std::move(deployment), std::move(store), counters, replicas, runtime);
}

}  // namespace redis

Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime) {
  if (url.scheme == "redlock") {
    return Error{ErrorCode::kUnsupported,
                 "redlock:// keeps no stock: a majority of independent servers can agree on who holds a lock, but not "
                 "on how many items are left",
                 "keep the stock on one server (redis://), on a cluster, or in a database"};
  }
  if (url.param("layout") == "redisson") {
    return Error{ErrorCode::kUnsupported, "Redisson has no stocks: layout=redisson is for locks",
                 "leave layout=redisson out of the stock's URL"};
  }
  if (const std::string slots = url.param("stock_slots"); !slots.empty() && slots != "1") {
    return Error{ErrorCode::kMisconfigured,
                 "a stock lies in one slot: the URL parameter stock_slots=" + slots + " was removed",
                 "leave it out; a stock that an older dlock spread must first be sold or dropped with that dlock"};
  }
  auto deployment = redis::redis_deployment(url, runtime.clock, redis::kStockConnectTimeout);
  if (!deployment) return deployment.error();
  return redis::make_stock(std::move(*deployment), url.redacted(), redis::counters_of(url), redis::redis_replicas(url),
                           runtime);
}

}  // namespace dlock
