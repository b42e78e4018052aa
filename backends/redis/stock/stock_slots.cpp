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

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

/// How long a request is remembered after it was last heard of: longer than anybody sends it again, or gives back.
constexpr Duration kKeepRequests = std::chrono::days(30);
/// How long a refused attempt is: longer than a commit of it can be on its way.
constexpr Duration kKeepRefused = std::chrono::days(1);
constexpr Duration kReplicaTimeout = 1s;

std::string milliseconds(Duration d) { return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()); }

class RedisStockSlots final : public StockSlots {
 public:
  RedisStockSlots(std::unique_ptr<Deployment> deployment, std::string store, const StockSpace& space,
                  ReplicaDemand replicas, const Runtime& runtime)
      : deployment_(std::move(deployment)),
        store_(std::move(store)),
        space_(space),
        replicas_(replicas),
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
    const StockRequest& request = take.request;
    const std::string only = request.only_segment ? std::to_string(*request.only_segment) : "";
    return deduction(request, run_for(request.id, stock_scripts::kTake, place,
                                      {request.id.text(), std::to_string(request.quantity), std::to_string(take.start),
                                       only, milliseconds(kKeepRequests), take.owner, milliseconds(take.ttl)},
                                      limit));
  }
  Result<SlotAnswer> commit(const StockPlace& place, const SlotTake& take, const SlotAttempt& attempt,
                            const CallLimit& limit) override {
    const StockRequest& request = take.request;
    return deduction(
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
    const auto answer = run_for(request.id, stock_scripts::kConfirm, {request.stock, slot},
                                {request.id.text(), owner.text(), milliseconds(kKeepRequests)}, limit);
    if (answer && answer->is("over")) return reservation_over(request.stock, request.id);
    return parts_of(answer);
  }
  Result<SlotParts> cancel(const StockRequest& request, int slot, const Owner& owner, const CallLimit& limit) override {
    const auto answer =
        run_for(request.id, stock_scripts::kCancel, {request.stock, slot}, {request.id.text(), owner.text()}, limit);
    if (answer && answer->is("sold")) return sold_already(request.id);
    return parts_of(answer);
  }
  Result<SlotChange> refund(const StockPlace& place, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override;
  Result<SlotChange> add(const StockPlace& place, const LockName& id, Quantity quantity, const StockParts& parts,
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
    const StockNames n = space_.names(place.stock, place.slot);
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
  Error not_understood() const {
    return {ErrorCode::kUnavailable, store_ + " answered what dlock does not understand",
            "is another program using names that begin with 'dlock:stock:' there?"};
  }
  Result<void> ok(const Result<StockReply>& answer) const {
    if (!answer) return answer.error();
    return answer->is("ok") ? Result<void>() : not_understood();
  }
  Result<SlotParts> parts_of(const Result<StockReply>& answer) const {
    if (!answer) return answer.error();
    auto parts = parse_slot_parts(answer->text(1));
    return answer->is("ok") && parts ? std::move(parts) : not_understood();
  }
  Result<SlotChange> change(const LockName& id, const StockReply& answer) const;
  Result<SlotAnswer> deduction(const StockRequest& request, const Result<StockReply>& answer) const;

  Result<StockReply> run(const char* script, const StockPlace& place, std::vector<std::string> arguments,
                         const CallLimit& limit) {
    const StockNames n = space_.names(place.stock, place.slot);
    return call(script, place, n, n.meta, std::move(arguments), limit);
  }
  Result<StockReply> run_for(const LockName& id, const char* script, const StockPlace& place,
                             std::vector<std::string> arguments, const CallLimit& limit) {
    const StockNames n = space_.names(place.stock, place.slot);
    return call(script, place, n, n.request + id.text(), std::move(arguments), limit);
  }
  Result<StockReply> call(const char* script, const StockPlace& place, const StockNames& n, const std::string& record,
                          std::vector<std::string> arguments, const CallLimit& limit);
  Error failed_script(const LockName& stock, const Reply& error) const;
  Error unreplicated(const std::string& replicas) const;
  bool is_no_tair(const Reply& reply) const {
    return space_.counters == StockCounters::kTair && reply.is_error() &&
           reply.text.find("Unknown Redis command") != std::string::npos;
  }
  Error no_tair(const Reply& reply) const {
    return {ErrorCode::kUnsupported, store_ + " is no Tair: it answered \"" + words_of(reply) + "\"",
            "use redis:// for it"};
  }

  std::unique_ptr<Deployment> deployment_;
  const std::string store_;
  const StockSpace space_;
  const ReplicaDemand replicas_;
  const Runtime runtime_;
  std::map<std::pair<const char*, int>, std::string> texts_;  ///< by script and slot
};

Result<SlotAnswer> RedisStockSlots::deduction(const StockRequest& request, const Result<StockReply>& answer) const {
  if (!answer) return answer.error();
  if (answer->has("short", 2)) return SlotAnswer{StockShort{answer->quantity(1), answer->quantity(2)}, ""};
  if (answer->is("progress")) return SlotAnswer{StockInProgress{}, ""};
  if (answer->is("refunded")) return id_refunded(request.id);
  if (answer->is("restock")) return id_of_restock(request.id);
  if (answer->is("reused")) return id_reused(request.id, answer->quantity(1), request.quantity);
  auto got = parse_slot_parts(answer->text(1));
  if (!got) return not_understood();
  if (answer->is("taken") || answer->is("repeated")) {
    return SlotAnswer{StockTaken{std::move(got->parts), {}, answer->is("repeated")}, std::move(got->attempt)};
  }
  const auto token = FencingToken::parse(answer->text(2));
  if (!answer->has("reserved", 2) || !token) return not_understood();
  return SlotAnswer{StockTaken{std::move(got->parts), *token, false}, std::move(got->attempt)};
}

/// "{word, parts, credit, made}"
Result<SlotChange> RedisStockSlots::change(const LockName& id, const StockReply& answer) const {
  auto parts = parse_slot_parts(answer.text(1));
  auto credit = parse_credit(id.text(), answer.text(2));
  if (!parts || !credit) return not_understood();
  return SlotChange{std::move(parts->parts), std::move(*credit), answer.text(3)};
}

Result<SlotChange> RedisStockSlots::refund(const StockPlace& place, const LockName& id,
                                           std::optional<Quantity> quantity, const CallLimit& limit) {
  const auto answer =
      run_for(id, stock_scripts::kRefund, place,
              {id.text(), quantity ? std::to_string(*quantity) : "", milliseconds(kKeepRequests)}, limit);
  if (!answer) return answer.error();
  if (answer->is("nothing")) return SlotChange{};
  if (answer->is("running")) return refund_while_running(id);
  if (answer->is("restock")) return id_of_restock(id);
  if (answer->is("more")) return more_than_taken(id, answer->quantity(1), *quantity);
  if (answer->is("otherwise")) return refunded_otherwise(id, answer->quantity(1));
  return answer->has("back", 3) ? change(id, *answer) : not_understood();
}

Result<SlotChange> RedisStockSlots::add(const StockPlace& place, const LockName& id, Quantity quantity,
                                        const StockParts& parts, const CallLimit& limit) {
  const auto answer =
      run_for(id, stock_scripts::kAdd, place,
              {id.text(), std::to_string(quantity), milliseconds(kKeepRequests), parts_text(parts, ',')}, limit);
  if (!answer) return answer.error();
  if (answer->is("take")) return id_of_take(id);
  if (answer->is("reused")) return id_reused(id, answer->quantity(1), quantity);
  return answer->has("added", 3) ? change(id, *answer) : not_understood();
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

/// Replicas are asked behind the script, on its connection; an answer that is repeated writes as well, so that they
/// speak of it.
Result<StockReply> RedisStockSlots::call(const char* script, const StockPlace& place, const StockNames& n,
                                         const std::string& record, std::vector<std::string> arguments,
                                         const CallLimit& limit) {
  std::string& text = texts_[{script, place.slot}];
  if (text.empty()) text = script_text(script, space_.counters, place.slot, space_.slots);
  Command command{"EVAL", text,    "9",    n.meta, n.quantity, n.reserved,
                  n.open, n.until, record, n.held, n.credits,  n.refused};
  command.insert(command.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  ReplicaCheck replicas(replicas_);
  while (true) {
    std::vector<Command> commands{command};
    for (Command& one : replicas.commands(kReplicaTimeout)) commands.push_back(std::move(one));
    auto replies = deployment_->call(n.meta, commands, limit.until, limit.control);
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) {
      if (is_no_tair(reply)) return no_tair(reply);
      if (auto error = error_of(reply, store_)) return *error;
    }
    if (replies->front().kind != Reply::Kind::kArray || replies->front().elements.empty()) return not_understood();
    StockReply answer(std::move(replies->front()));
    if (answer.is("none")) return no_such_stock(place.stock, store_);
    if (answer.is("broken")) return broken_stock(place.stock, answer.text(1));
    if (answer.is("failed")) return failed_script(place.stock, {Reply::Kind::kError, answer.text(1), 0, {}});
    if (!replicas.any()) return answer;
    replies->erase(replies->begin());
    const auto outcome = replicas.judge(*replies);
    if (outcome == ReplicaCheck::Outcome::kMet) return answer;
    if (outcome == ReplicaCheck::Outcome::kUnmet) return unreplicated(replicas.text());
  }
}

/// Either we lack a right, or a key holds what the command cannot work with.
Error RedisStockSlots::failed_script(const LockName& stock, const Reply& error) const {
  return is_denied(error) ? *error_of(error, store_) : broken_stock(stock, error.text);
}

/// It has happened, but a failover now might undo it: an outcome that is not known, until it is asked for again.
Error RedisStockSlots::unreplicated(const std::string& replicas) const {
  return {ErrorCode::kUnavailable, "confirmed by only " + replicas + " of " + store_ + ": a failover now might undo it",
          "bring the replicas back, then repeat the request with the same --id"};
}

Result<std::vector<LockName>> RedisStockSlots::names(const CallLimit& limit) {
  const auto servers = deployment_->all_servers(limit.until);
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

}  // namespace

std::unique_ptr<StockSlots> make_stock_slots(std::unique_ptr<Deployment> deployment, std::string store,
                                             const StockSpace& space, ReplicaDemand replicas, const Runtime& runtime) {
  return std::make_unique<RedisStockSlots>(std::move(deployment), std::move(store), space, replicas, runtime);
}

}  // namespace dlock::redis
