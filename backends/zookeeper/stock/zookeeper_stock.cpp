// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/zookeeper_stock.h"

#include <algorithm>
#include <iterator>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/session/errors.h"
#include "backends/zookeeper/stock/segment_locks.h"
#include "backends/zookeeper/stock/stock_call.h"
#include "backends/zookeeper/stock/stock_deduction.h"
#include "backends/zookeeper/stock/stock_garbage.h"
#include "backends/zookeeper/stock/stock_group.h"
#include "backends/zookeeper/stock/stock_requests.h"
#include "lib/base/random.h"
#include "lib/stock/segment_plan.h"

namespace dlock {
namespace zookeeper {
namespace {

// After how many lost tries a call closes the gate: a few segments are won sooner or later, a quiet moment to look at
// all of them comes as well; to write all of them it hardly ever does. What a group has read is much, and old soon.
constexpr int kGateForSome = 30;
constexpr int kGateToLook = 30;
constexpr int kGateForGroup = 3;
constexpr int kGateForAll = 2;

std::int64_t ms(Duration d) { return std::chrono::ceil<std::chrono::milliseconds>(d).count(); }

Change make_node(std::string path, std::string data) {
  return {Change::Kind::kCreate, std::move(path), std::move(data), NodeKind::kPersistent, -1};
}

class ZooKeeperStock final : public Stock {
 public:
  ZooKeeperStock(Ensemble ensemble, const Runtime& runtime) : session_(std::move(ensemble), runtime) {}

  const std::string& store() const override { return session_.store(); }

  Result<void> create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                      const CallLimit& limit) override;
  Result<StockState> show(const LockName& name, const CallLimit& limit) override;
  Result<std::vector<LockName>> names(const CallLimit& limit) override;

  Result<StockAnswer> take(const StockRequest& request, int start, const CallLimit& limit) override {
    return deduct(request, nullptr, Duration(0), start, limit);
  }
  Result<StockAnswer> reserve(const StockRequest& request, const Owner& owner, Duration ttl, int start,
                              const CallLimit& limit) override {
    return deduct(request, &owner, ttl, start, limit);
  }
  Result<void> extend(const StockRequest& request, const Owner& owner, Duration ttl, const CallLimit& limit) override;
  Result<void> confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;
  Result<void> cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) override;

  Result<StockParts> refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                            const CallLimit& limit) override;
  Result<StockParts> add(const LockName& name, const LockName& id, Quantity quantity, const CallLimit& limit) override;

  std::vector<Result<StepAnswer>> serve(const LockName& stock, std::span<const StockStep> steps,
                                        const CallLimit& limit) override;

  Result<void> rebalance(const LockName& name, const CallLimit& limit) override { return level(name, {}, limit); }
  Result<void> resize(const LockName& name, int segments, const CallLimit& limit) override {
    return level(name, segments, limit);
  }
  Result<void> drop(const LockName& name, const CallLimit& limit) override;

  /// Other recipes than the bridge's have locks of several steps: those for everybody serve.
  SegmentLocks* segment_locks() override {
    return session_.ensemble().recipe() == Recipe::kBridge ? &segment_locks_ : nullptr;
  }

 private:
  StockCall call(const LockName& name, const CallLimit& limit) {
    if (known_name_ != name) known_.reset();
    known_name_ = name;
    return StockCall(session_, known_, name, limit);
  }
  Result<StockAnswer> deduct(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                             const CallLimit& limit);
  /// The answers to the first of the steps, to one at least.
  std::vector<Result<StepAnswer>> serve_group(const LockName& stock, std::span<const StockStep> steps,
                                              const CallLimit& limit);
  Result<void> level(const LockName& name, std::optional<int> segments, const CallLimit& limit);
  /// The segment that the end of this reservation will need, as far as we remember; -1: none.
  int segment_of(const LockName& id, int segments) const {
    return aside_ && aside_->first == id ? home_of(aside_->second.segment, segments) : -1;
  }

  /// With what a decision writes goes what frees the locks of its segments.
  template <typename Ending>
  Result<void> end(StockCall& stock, const LockName& id, Ending& ending);

  StockSession session_;
  SegmentSessionLocks segment_locks_{
      session_, *this, [this](const LockName& name, const CallLimit& limit) { return call(name, limit); }};
  std::optional<LockName> known_name_;
  std::optional<SeenHead> known_;
  std::optional<std::pair<LockName, StockPart>> aside_;  ///< the last reservation, and where most likely it still is
};

Result<void> ZooKeeperStock::create(const LockName& name, Quantity quantity, int segments, const Owner& maker,
                                    const CallLimit& limit) {
  const std::string path = stock_path(session_.root(), name);
  while (true) {
    const auto found = session_.ask_until(std::vector<Request>{{.kind = Request::Kind::kSync, .path = path},
                                                               {.kind = Request::Kind::kRead, .path = path}},
                                          limit);
    if (!found) return found.error();
    if (found->back().code != Code::kNoNode) {
      const auto head = parse_head(found->back().data);
      return head && head->maker == maker.text() ? Result<void>() : stock_exists(name, store());
    }
    const StockHead head{random_hex(8), segments, quantity, maker.text(), {}};
    const std::string life = life_path(session_.root(), head.life);
    std::vector<Change> nodes{make_node(path, head_text(head)), make_node(life, name.text())};
    for (const char* directory : {kSegments, kOpen, kRequests}) nodes.push_back(make_node(life + directory, ""));
    int segment = 0;
    for (const Quantity each : spread(quantity, segments)) {
      nodes.push_back(make_node(segment_path(life, segment++), counts_text({.quantity = each})));
    }
    const auto made = session_.ask({.kind = Request::Kind::kChange, .changes = nodes}, limit);
    if (!made) return made.error();
    if (made->code == Code::kOk) return {};
    if (made->code == Code::kNoNode && session_.now() < limit.until) {
      for (const char* purpose : {kStocks, kStockData}) {
        const auto directory = session_.make_directory(own_directory(session_.root(), purpose), limit);
        if (!directory) return directory;
      }
    } else if (made->code != Code::kNodeExists || session_.now() >= limit.until) {
      return unexpected(ErrorCode::kUnsupported, made->code, store(), "does not make a stock");
    }
  }
}

Result<StockState> ZooKeeperStock::show(const LockName& name, const CallLimit& limit) {
  StockState state{.name = name, .segments = {}};
  const auto done = call(name, limit).freshly().run(kGateToLook, [&](StockCall& call) -> Result<Step> {
    bool steady = false;
    if (auto loaded = call.load_all(&steady); !loaded) return loaded.error();
    if (call.open() > 0) {
      const auto swept = call.sweep();
      if (!swept) return swept.error();
      if (*swept) return Step::kWriteThenRead;
    }
    if (!steady) return Step::kReadAgain;
    StockCounts sum;
    state.segments.clear();
    for (int i = 0; i < call.segments(); ++i) {
      state.segments.push_back({call.counts(i).quantity, call.counts(i).reserved});
      sum += call.counts(i);
    }
    state.created = call.head().created;
    state.added = sum.added;
    state.taken = sum.taken;
    state.refunded = sum.refunded;
    state.open = call.open();
    return Step::kConclude;
  });
  if (!done) return done.error();
  return state;
}

Result<std::vector<LockName>> ZooKeeperStock::names(const CallLimit& limit) {
  const std::string path = own_directory(session_.root(), kStocks);
  const auto list = session_.ask_until(
      std::vector<Request>{{.kind = Request::Kind::kSync, .path = path}, {.kind = Request::Kind::kList, .path = path}},
      limit);
  if (!list) return list.error();
  std::vector<LockName> names;
  for (const std::string& child : list->back().children) {
    if (auto name = name_of_part(child)) names.push_back(std::move(*name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// `owner` null: for good.
Result<StockAnswer> ZooKeeperStock::deduct(const StockRequest& request, const Owner* owner, Duration ttl, int start,
                                           const CallLimit& limit) {
  StockCall stock = call(request.stock, limit);
  Deduction deduction(request, owner, ms(ttl), start);
  const auto done = stock.run(kGateForSome, [&](StockCall& call) { return deduction.decide(call); });
  if (!done) return done.error();
  StockAnswer answer = deduction.answer();
  auto* taken = std::get_if<StockTaken>(&answer);
  if (taken && owner && !taken->repeated) {
    taken->token = stock.token();
    aside_ = {request.id, taken->parts.front()};
  }
  return answer;
}

Result<void> ZooKeeperStock::extend(const StockRequest& request, const Owner& owner, Duration ttl,
                                    const CallLimit& limit) {
  session_.outlast(ttl);
  StockCall stock = call(request.stock, limit);
  bool over = false;
  const auto done = stock.run(kGateForSome, [&](StockCall& call) -> Result<Step> {
    bool given = false;
    const auto seen = call.request_now(request.id, &given);
    if (!seen) return seen.error();
    if (given) return Step::kWriteThenRead;
    over = !*seen || !(*seen)->is_reserved() || !(*seen)->is_of(owner);
    if (over) return Step::kConclude;
    call.remember(request.id, {(*seen)->note.record, ms(ttl)}, *seen);
    return Step::kWrite;
  });
  if (done ? over : stock.is_missing()) return reservation_over(request.stock, request.id);
  return done;
}

/// Once: a node that is gone already would be refused again.
template <typename Ending>
Result<void> ZooKeeperStock::end(StockCall& stock, const LockName& id, Ending& ending) {
  Errand errand;
  auto done = stock.with(errand).run(kGateForSome, [&](StockCall& call) {
    ending.segment = segment_of(id, call.segments());
    auto decided = ending.decide(call);
    if (decided && *decided == Step::kWrite && call.tries() == 0) errand.changes = segment_locks_.removals();
    return decided;
  });
  if (done && !errand.changed.empty()) segment_locks_.released();
  return done;
}

Result<void> ZooKeeperStock::confirm(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  StockCall stock = call(request.stock, limit);
  Confirmation confirmation{request.id, owner};
  const auto done = end(stock, request.id, confirmation);
  if (done ? confirmation.over : stock.is_missing()) return reservation_over(request.stock, request.id);
  return done;
}

Result<void> ZooKeeperStock::cancel(const StockRequest& request, const Owner& owner, const CallLimit& limit) {
  StockCall stock = call(request.stock, limit);
  Cancellation cancellation{request.id, owner};
  const auto done = end(stock, request.id, cancellation);
  return stock.is_missing() ? Result<void>() : done;  // no stock: nothing is set aside
}

Result<StockParts> ZooKeeperStock::refund(const LockName& name, const LockName& id, std::optional<Quantity> quantity,
                                          const CallLimit& limit) {
  Refunding refunding{id, quantity};
  const auto done = call(name, limit).run(kGateForSome, [&](StockCall& call) { return refunding.decide(call); });
  if (!done) return done.error();
  return std::move(refunding.parts);
}

Result<StockParts> ZooKeeperStock::add(const LockName& name, const LockName& id, Quantity quantity,
                                       const CallLimit& limit) {
  Restocking restocking{id, quantity};
  const auto done = call(name, limit).run(kGateForSome, [&](StockCall& call) { return restocking.decide(call); });
  if (!done) return done.error();
  return std::move(restocking.parts);
}

std::vector<Result<StepAnswer>> ZooKeeperStock::serve(const LockName& stock, std::span<const StockStep> steps,
                                                      const CallLimit& limit) {
  std::vector<Result<StepAnswer>> answers;
  while (answers.size() < steps.size()) {
    const auto rest = steps.subspan(answers.size());
    const auto together = rest.first(group_size(rest));
    auto served = together.size() == 1 ? serve_each(stock, together, limit) : serve_group(stock, together, limit);
    std::move(served.begin(), served.end(), std::back_inserter(answers));
    if (answers.back() || answers.back().error().code != ErrorCode::kUnavailable) continue;
    const Error unknown = answers.back().error();
    answers.resize(steps.size(), unknown);  // nothing is begun behind what is not known
  }
  return answers;
}

std::vector<Result<StepAnswer>> ZooKeeperStock::serve_group(const LockName& stock, std::span<const StockStep> steps,
                                                            const CallLimit& limit) {
  StockCall together = call(stock, limit);
  StockGroup group(stock, steps);
  const auto done = together.freshly().run(kGateForGroup, [&](StockCall& call) { return group.decide(call); });
  if (done) return group.answers(together.token());
  const ErrorCode code = done.error().code;
  const bool unknown = code == ErrorCode::kUnavailable || code == ErrorCode::kCancelled;
  return unknown ? std::vector<Result<StepAnswer>>(steps.size(), done.error()) : serve_each(stock, steps, limit);
}

/// What is reserved is counted at the homes that its parts have from then on; the rest of what a segment that goes has
/// counted is counted by the first one.
Result<void> ZooKeeperStock::level(const LockName& name, std::optional<int> segments, const CallLimit& limit) {
  return call(name, limit).run(kGateForAll, [&](StockCall& call) -> Result<Step> {
    if (auto loaded = call.load_all(); !loaded) return loaded.error();
    const int count = segments.value_or(call.segments());
    std::vector<StockCounts> after(static_cast<std::size_t>(count));
    Quantity available = 0;
    Quantity reserved = 0;
    for (int i = 0; i < call.segments(); ++i) {
      StockCounts more = call.counts(i);
      available += std::exchange(more.quantity, 0);
      reserved += std::exchange(more.reserved, 0);
      after[static_cast<std::size_t>(i < count ? i : 0)] += more;
    }
    const std::vector<Quantity> each = spread(available, count);
    for (std::size_t i = 0; i < after.size(); ++i) after[i].quantity = each[i];
    const auto reservations = call.reservations();
    if (!reservations) return reservations.error();
    for (const SeenNote& one : *reservations) {
      for (const StockPart& part : one.note.record.parts) {
        after[static_cast<std::size_t>(home_of(part.segment, count))].reserved += part.quantity;
        reserved -= part.quantity;
      }
    }
    if (reserved != 0 && call.has_gate()) return broken_stock(name, "its reservations are not what is set aside");
    if (reserved != 0) return Step::kReadAgain;  // some came or went
    call.replace(after);
    return Step::kWrite;
  });
}

Result<void> ZooKeeperStock::drop(const LockName& name, const CallLimit& limit) {
  std::string life;
  StockCall stock = call(name, limit);
  const auto done = stock.run(kGateForAll, [&](StockCall& call) -> Result<Step> {
    life = life_path(session_.root(), call.head().life);
    call.remove();
    return Step::kWrite;
  });
  const bool gone = done || (stock.is_missing() && !life.empty());  // the answer to our own drop was lost
  if (!gone) return done;
  (void)remove_tree(session_, life, limit);  // what is left then is left to gc
  return {};
}

}  // namespace

std::unique_ptr<Stock> make_stock(Ensemble ensemble, const Runtime& runtime) {
  return std::make_unique<ZooKeeperStock>(std::move(ensemble), runtime);
}

}  // namespace zookeeper

Result<std::unique_ptr<Stock>> make_zookeeper_stock(const BackendUrl& url, const Runtime& runtime) {
  auto ensemble = zookeeper::Ensemble::of(url, runtime.clock);
  if (!ensemble) return ensemble.error();
  return zookeeper::make_stock(std::move(*ensemble), runtime);
}

}  // namespace dlock
