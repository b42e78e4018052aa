// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redis_stock.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "backends/redis/deployment.h"
#include "backends/redis/native_store.h"
#include "backends/redis/redis_backend.h"
#include "backends/redis/stock_names.h"
#include "backends/redis/stock_scripts.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using redis::Command;
using redis::Reply;
using redis::StockNames;

/// How long a request is remembered after it was last heard of: longer than anybody sends it again, or gives back.
constexpr Duration kKeep = std::chrono::days(30);
constexpr Duration kConnectTimeout = 5s;
constexpr Duration kReplicaTimeout = 1s;

std::string ms_text(Duration d) { return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()); }

/// One answer: its first word, and texts.
class Answer {
 public:
  explicit Answer(Reply reply) : reply_(std::move(reply)) {}
  bool is(std::string_view word) const { return reply_.elements[0].text == word; }
  bool has(std::string_view word, std::size_t texts) const { return is(word) && reply_.elements.size() == texts + 1; }
  const Reply& element(std::size_t i) const { return reply_.elements[i]; }
  std::string text(std::size_t i) const { return i < reply_.elements.size() ? reply_.elements[i].text : std::string(); }
  Result<Quantity> quantity(std::size_t i) const { return parse_quantity(text(i), 0); }
  Quantity quantity_or_0(std::size_t i) const {
    const auto number = quantity(i);
    return number ? *number : 0;
  }
  Result<StockParts> parts(std::size_t i) const {
    return text(i) == "-" ? Result<StockParts>(StockParts()) : parse_parts(text(i), ',');
  }

 private:
  Reply reply_;
};

class RedisStock final : public Stock {
 public:
  RedisStock(std::unique_ptr<redis::Deployment> deployment, std::string store, redis::ReplicaDemand replicas,
             const Runtime& runtime)
      : deployment_(std::move(deployment)), store_(std::move(store)), replicas_(replicas), runtime_(runtime) {}

  const std::string& store() const override { return store_; }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override {
    std::vector<std::string> arguments{maker.text(), std::to_string(quantity)};
    for (const Quantity each : spread(quantity, segments)) arguments.push_back(std::to_string(each));
    const auto answer = run(redis::kStockCreateScript, name, nullptr, std::move(arguments), limit);
    if (!answer) return answer.error();
    if (answer->is("made")) return {};
    return answer->is("exists") ? stock_exists(name, store_) : not_understood();
  }

  Result<StockState> show(const LockName& name, const CallLimit& limit) override {
    const auto answer = run(redis::kStockShowScript, name, nullptr, {}, limit);
    if (!answer) return answer.error();
    if (!answer->has("state", 7)) return not_understood();
    StockState state{.name = name, .segments = {}};
    state.created = answer->quantity_or_0(1);
    state.added = answer->quantity_or_0(2);
    state.taken = answer->quantity_or_0(3);
    state.refunded = answer->quantity_or_0(4);
    state.open = answer->quantity_or_0(5);
    const auto& have = answer->element(6).elements;
    const auto& reserved = answer->element(7).elements;
    for (std::size_t i = 0; i < have.size() && i < reserved.size(); ++i) {
      const auto quantity = parse_quantity(have[i].text, 0);
      const auto aside = parse_quantity(reserved[i].text, 0);
      if (!quantity || !aside) return not_understood();
      state.segments.push_back({*quantity, *aside});
    }
    return state;
  }

  Result<std::vector<LockName>> names(const CallLimit& limit) override;

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return deduct(request, "", Duration(0), start, limit);
  }
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return deduct(request, owner.text(), ttl, start, limit);
  }

  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override {
    return of_reservation(redis::kStockExtendScript, request, {request.id.text(), owner.text(), ms_text(ttl)}, limit);
  }
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    return of_reservation(redis::kStockConfirmScript, request, {request.id.text(), owner.text(), ms_text(kKeep)},
                          limit);
  }
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override {
    const auto answer =
        run(redis::kStockCancelScript, request.stock, &request.id, {request.id.text(), owner.text()}, limit);
    if (answer || answer.error().code == ErrorCode::kMisconfigured) return {};  // no stock: nothing is set aside
    return answer.error();
  }

  Result<StockParts> refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override {
    const auto answer = run(redis::kStockRefundScript, name, &id,
                            {id.text(), quantity ? std::to_string(*quantity) : "", ms_text(kKeep)}, limit);
    if (!answer) return answer.error();
    if (answer->is("nothing")) return StockParts();
    if (answer->is("running")) return refund_while_running(id);
    if (answer->is("restock")) return id_of_restock(id);
    if (answer->is("more")) return more_than_taken(id, answer->quantity_or_0(1), *quantity);
    if (answer->is("otherwise")) return refunded_otherwise(id, answer->quantity_or_0(1));
    return answer->has("back", 1) ? answer->parts(1) : not_understood();
  }

  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override {
    const auto answer =
        run(redis::kStockAddScript, name, &id, {id.text(), std::to_string(quantity), ms_text(kKeep)}, limit);
    if (!answer) return answer.error();
    if (answer->is("take")) return id_of_take(id);
    if (answer->is("reused")) return id_reused(id, answer->quantity_or_0(1), quantity);
    return answer->has("added", 1) ? answer->parts(1) : not_understood();
  }

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override { return level(name, "", limit); }
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return level(name, std::to_string(segments), limit);
  }
  Result<void> drop(const LockName& name, const CallLimit& limit) override {
    return ok(run(redis::kStockDropScript, name, nullptr, {}, limit));
  }

 private:
  Error not_understood() const {
    return {ErrorCode::kUnavailable, store_ + " answered what dlock does not understand",
            "is another program using names that begin with 'dlock:stock:' there?"};
  }

  Result<void> ok(const Result<Answer>& answer) const {
    if (!answer) return answer.error();
    return answer->is("ok") ? Result<void>() : not_understood();
  }

  Result<void> level(const LockName& name, const std::string& segments, const CallLimit& limit) {
    return ok(run(redis::kStockLevelScript, name, nullptr, {segments}, limit));
  }

  Result<void> of_reservation(const char* script, const StockRequest& request, std::vector<std::string> arguments,
                              const CallLimit& limit) {
    const auto answer = run(script, request.stock, &request.id, std::move(arguments), limit);
    if (!answer && answer.error().code == ErrorCode::kMisconfigured) return reservation_over(request.stock, request.id);
    if (!answer) return answer.error();
    if (answer->is("over")) return reservation_over(request.stock, request.id);
    return answer->is("ok") ? Result<void>() : not_understood();
  }

  Result<StockAnswer> deduct(const StockRequest& request, const std::string& owner, Duration ttl, int start,
                             const CallLimit& limit);
  Result<Answer> run(const char* script, const LockName& name, const LockName* id, std::vector<std::string> arguments,
                     const CallLimit& limit);
  Error unreplicated(const std::string& replicas) const;

  std::unique_ptr<redis::Deployment> deployment_;
  const std::string store_;
  const redis::ReplicaDemand replicas_;
  const Runtime runtime_;
};

Result<StockAnswer> RedisStock::deduct(const StockRequest& request, const std::string& owner, Duration ttl, int start,
                                       const CallLimit& limit) {
  const std::string only = request.only_segment ? std::to_string(*request.only_segment) : "";
  const auto answer = run(redis::kStockTakeScript, request.stock, &request.id,
                          {request.id.text(), std::to_string(request.quantity), std::to_string(start), only,
                           ms_text(kKeep), owner, ms_text(ttl)},
                          limit);
  if (!answer) return answer.error();
  if (answer->has("short", 2)) return StockAnswer(StockShort{answer->quantity_or_0(1), answer->quantity_or_0(2)});
  if (answer->is("progress")) return StockAnswer(StockInProgress{});
  if (answer->is("refunded")) return id_refunded(request.id);
  if (answer->is("restock")) return id_of_restock(request.id);
  if (answer->is("reused")) return id_reused(request.id, answer->quantity_or_0(1), request.quantity);
  auto parts = answer->parts(1);
  if (!parts) return not_understood();
  if (answer->is("taken")) return StockAnswer(StockTaken{std::move(*parts), {}, false});
  if (answer->is("repeated")) return StockAnswer(StockTaken{std::move(*parts), {}, true});
  const auto token = FencingToken::parse(answer->text(2));
  if (!answer->has("reserved", 2) || !token) return not_understood();
  return StockAnswer(StockTaken{std::move(*parts), *token, false});
}

/// Replicas are asked behind the script, on its connection; an answer that is repeated writes as well, so that they
/// speak of it.
Result<Answer> RedisStock::run(const char* script, const LockName& name, const LockName* id,
                               std::vector<std::string> arguments, const CallLimit& limit) {
  const StockNames n = redis::stock_names(name);
  Command command{"EVAL", script, "6", n.meta, n.quantity, n.reserved, n.open, n.until};
  command.push_back(id ? n.request + id->text() : n.meta);
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  redis::ReplicaCheck replicas(replicas_);
  while (true) {
    std::vector<Command> commands{command};
    for (Command& one : replicas.commands(kReplicaTimeout)) commands.push_back(std::move(one));
    auto replies = deployment_->call(n.meta, commands, limit.until, limit.control);
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) {
      if (auto error = redis::error_of(reply, store_)) return *error;
    }
    if (replies->front().kind != Reply::Kind::kArray || replies->front().elements.empty()) return not_understood();
    Answer answer(std::move(replies->front()));
    if (answer.is("none")) return no_such_stock(name, store_);
    if (answer.is("broken")) return broken_stock(name, answer.text(1));
    if (!replicas.any()) return answer;
    replies->erase(replies->begin());
    const auto outcome = replicas.judge(*replies);
    if (outcome == redis::ReplicaCheck::Outcome::kMet) return answer;
    if (outcome == redis::ReplicaCheck::Outcome::kUnmet) return unreplicated(replicas.text());
  }
}

/// It has happened, but a failover now might undo it: an outcome that is not known, until it is asked for again.
Error RedisStock::unreplicated(const std::string& replicas) const {
  return {ErrorCode::kUnavailable, "confirmed by only " + replicas + " of " + store_ + ": a failover now might undo it",
          "bring the replicas back, then repeat the request with the same --id"};
}

Result<std::vector<LockName>> RedisStock::names(const CallLimit& limit) {
  const auto servers = deployment_->all_servers(limit.until);
  if (!servers) return servers.error();
  std::set<LockName> names;
  for (redis::Connection* server : *servers) {
    std::string cursor = "0";
    do {
      const auto replies =
          redis::exchange(*server, {{"SCAN", cursor, "MATCH", redis::kStockMetaPattern, "COUNT", "1000"}},
                          runtime_.clock, limit.until, limit.until, limit.control);
      if (!replies) return replies.error();
      const Reply& page = replies->front();
      if (auto error = redis::error_of(page, store_)) return *error;
      if (page.elements.size() != 2) return not_understood();
      cursor = page.elements[0].text;
      for (const Reply& key : page.elements[1].elements) {
        const auto text = redis::stock_of_meta(key.text);
        if (!text) continue;
        if (auto name = LockName::parse(*text)) names.insert(std::move(*name));
      }
    } while (cursor != "0");
  }
  return std::vector<LockName>(names.begin(), names.end());
}

}  // namespace

Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime) {
  if (url.scheme == "redlock") {
    return Error{ErrorCode::kUnsupported,
                 "redlock:// keeps no stock: a majority of independent servers can agree on who holds a lock, but not "
                 "on how many items are left",
                 "keep the stock on one server (redis://), on a cluster, or in a database"};
  }
  if (url.scheme == "tair") return no_stock_in(url);
  auto deployment = redis_deployment(url, runtime.clock, kConnectTimeout);
  if (!deployment) return deployment.error();
  return std::unique_ptr<Stock>(
      std::make_unique<RedisStock>(std::move(*deployment), url.redacted(), redis_replicas(url), runtime));
}

}  // namespace dlock
