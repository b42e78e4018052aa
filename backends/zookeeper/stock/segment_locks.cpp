// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/segment_locks.h"

#include <algorithm>
#include <chrono>

#include "backends/zookeeper/lock/lock.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/stock/stock_tree.h"
#include "lib/stock/stock_ledger.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kUndoBudget = 3s;

}  // namespace

/// One of them, known to its home while it is held.
class SegmentLock final : public LockDriver {
 public:
  SegmentLock(SegmentSessionLocks& home, std::unique_ptr<ZookeeperLock> lock) : home_(home), lock_(std::move(lock)) {}
  ~SegmentLock() override { forget(); }
  SegmentLock(const SegmentLock&) = delete;
  SegmentLock& operator=(const SegmentLock&) = delete;

  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override {
    auto answer = lock_->acquire(control);
    if (answer && std::holds_alternative<Granted>(*answer)) home_.locks_.push_back(this);
    return answer;
  }
  Granted adopt(std::shared_ptr<Calls> calls, std::string node, const Errand& errand) {
    home_.locks_.push_back(this);
    return lock_->adopt(std::move(calls), std::move(node), errand.zxid, errand.sent);
  }
  Renewal renew(Control& control, TimePoint until) override { return lock_->renew(control, until); }
  void add_interest(std::vector<pollfd>& fds) const override { lock_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return lock_->wake_at(); }
  Renewal held(TimePoint now) override { return lock_->held(now); }
  Result<void> release(TimePoint until) override {
    forget();
    return lock_->release(until);
  }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint until) override { return release(until); }

  const std::string& node() const { return lock_->node(); }
  void released() { lock_->released(); }

 private:
  void forget() { std::erase(home_.locks_, this); }

  SegmentSessionLocks& home_;
  const std::unique_ptr<ZookeeperLock> lock_;
};

namespace {

std::unique_ptr<SegmentLock> make_lock(SegmentSessionLocks& home, StockSession& session, const LockSpec& spec,
                                       const QueueDirectory& stage) {
  return std::make_unique<SegmentLock>(
      home, std::make_unique<ZookeeperLock>(session.ensemble(), spec, stage.directory,
                                            std::vector<QueueDirectory>{stage}, session.runtime(), &session));
}

/// The lock has neither a holder nor a waiter.
bool is_empty(const Answer& place) { return place.code == Code::kNoNode || place.stat.children == 0; }

}  // namespace

LockSpec SegmentSessionLocks::spec_of(const LockName& stock, int segment, Duration ttl) const {
  LockSpec spec =
      spec_ ? *spec_ : LockSpec{.name = stock, .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
  if (const auto key = segment_key(stock, segment)) spec.name = *key;
  spec.ttl = ttl;
  spec.stock.reset();
  spec.ancestor.reset();
  return spec;
}

Result<QueueDirectory> SegmentSessionLocks::stage_of(const LockName& stock, int segment) const {
  const auto key = segment_key(stock, segment);
  return key ? stage_at(*key) : key.error();
}

Result<QueueDirectory> SegmentSessionLocks::stage_at(const LockName& key) const {
  const auto directory = directory_of(session_.root(), key);
  if (!directory) return directory.error();
  auto stages = queues_of(Recipe::kCurator, *directory, Mode::kExclusive, 0);
  if (!stages) return stages.error();
  return std::move(stages->back());
}

Result<SegmentSessionLocks::Chosen> SegmentSessionLocks::choose(const Wish& wish) {
  if (tree_.is_unsure()) {
    tree_.believe();
    return Chosen{.unsure = true};
  }
  const LockName& stock = wish.request.stock;
  if (!tree_.find(stock)) return no_such_stock(stock, session_.store());
  const int first = wish.start % tree_.segments();
  const auto stage = stage_of(stock, first);
  if (!stage) return stage.error();
  (void)tree_.look({tree_.request_node(wish.request.id), tree_.segment_node(first), stage->directory});
  const auto record = tree_.record(wish.request.id);
  if (!record) return record.error();
  if (wish.owner) {
    auto again = answer_again(*record ? &**record : nullptr, wish.request, wish.owner);
    if (!again) return again.error();
    if (*again) return Chosen{.answer = std::move(*again)};
  }
  const auto here = tree_.quantity(first);
  if (!here) return here.error();
  const bool fits = **here >= wish.request.quantity && is_empty(tree_.seen(stage->directory));
  return fits ? take(wish, first) : choose_among_all(wish);
}

/// The queue that is joined if none is free is the shortest of them.
Result<SegmentSessionLocks::Chosen> SegmentSessionLocks::choose_among_all(const Wish& wish) {
  const int count = tree_.segments();
  std::vector<std::string> places;
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i) {
    const auto stage = stage_of(wish.request.stock, i);
    if (!stage) return stage.error();
    places.push_back(stage->directory);
    nodes.push_back(tree_.segment_node(i));
  }
  nodes.insert(nodes.end(), places.begin(), places.end());
  if (auto looked = tree_.look(nodes); !looked) return looked.error();
  Chosen chosen;
  int shortest = 0;
  for (int i = 0; i < count; ++i) {
    const int segment = (wish.start % count + i) % count;
    const auto here = tree_.quantity(segment);
    if (!here) return here.error();
    const Answer& place = tree_.seen(places[static_cast<std::size_t>(segment)]);
    if (**here < wish.request.quantity) continue;
    if (is_empty(place)) return take(wish, segment);
    if (!chosen.segment || place.stat.children < shortest) chosen.segment = segment, shortest = place.stat.children;
  }
  tree_.believe();
  return chosen;
}

Result<SegmentSessionLocks::Chosen> SegmentSessionLocks::take(const Wish& wish, int segment) {
  auto stage = stage_of(wish.request.stock, segment);
  if (!stage) return stage.error();
  const auto calls = session_.share(wish.limit.until, wish.limit.control);
  if (!calls) return calls.error();
  if (tree_.seen(stage->directory).code == Code::kNoNode) {
    const auto made =
        make_directory(**calls, stage->directory, false, kDirectoryData, wish.limit.until, wish.limit.control);
    if (!made) return made.error();
    tree_.forget(stage->directory);
    if (auto looked = tree_.look({stage->directory}); !looked) return looked.error();
  }
  const std::string label = encode(record_of(spec_of(wish.request.stock, segment, wish.ttl)));
  const Answer& place = tree_.seen(stage->directory);
  Errand& errand = tree_.errand();
  errand.changes = {ContenderStore(**calls, *stage, label).creation()};
  errand.changes.push_back(set_node(stage->directory, place.data, place.stat.version));
  errand.then_list = stage->directory;
  Chosen chosen{.segment = segment, .stage = std::move(*stage)};
  if (!wish.owner) return chosen;
  const Quantity quantity = wish.request.quantity;
  const StockParts parts{{segment, quantity}};
  tree_.move(segment, {.quantity = -quantity, .reserved = quantity});
  tree_.remember(wish.request.id, {RequestRecord::State::kReserved, quantity, parts, wish.owner->text(), 0}, wish.ttl);
  chosen.answer = StockTaken{parts, {}, false};
  return chosen;
}

Result<void> SegmentSessionLocks::undo(const Wish& wish) {
  if (!wish.owner) return {};
  return in_transaction<void>(tree_, StockLedger::Access::kShared, wish.limit, [&]() -> Result<void> {
    if (!tree_.find(wish.request.stock)) return {};
    const auto record = tree_.record(wish.request.id);
    if (!record) return record.error();
    if (*record && (*record)->owner == wish.owner->text()) tree_.give_back(wish.request.id, **record);
    return {};
  });
}

Result<std::optional<SegmentLocks::Choice>> SegmentSessionLocks::lock_one(const StockRequest& request, int start,
                                                                          Duration ttl, const CallLimit& limit) {
  session_.carry_leases(ttl);
  const Wish wish{request, start, spec_ && spec_->stock ? &spec_->owner : nullptr, ttl, limit};
  auto chosen = in_transaction<Chosen>(tree_, StockLedger::Access::kShared, limit, [&] { return choose(wish); });
  if (!chosen && is_no_such_stock(chosen.error(), request.stock, session_.store())) return std::optional<Choice>();
  if (!chosen || chosen->unsure) {
    session_.close();  // with the nodes of the lock, should they have been made
    return chosen ? Error{ErrorCode::kUnavailable, "an answer of " + session_.store() + " was lost"} : chosen.error();
  }
  auto* taken = chosen->answer ? std::get_if<StockTaken>(&*chosen->answer) : nullptr;
  if (!chosen->stage) {
    // A reservation of ours that is there already is of no segment whose lock we have.
    if (taken && !taken->repeated) return Error{ErrorCode::kUnavailable, "an earlier try has set something aside"};
    if (chosen->answer) return std::optional(Choice{0, nullptr, std::move(chosen->answer)});
    if (!chosen->segment) return std::optional<Choice>();
    return std::optional(Choice{*chosen->segment, nullptr});
  }
  if (taken) taken->token = *tree_.committed_token();
  const auto calls = session_.share(limit.until, limit.control);
  if (!calls) return calls.error();
  const Errand errand = tree_.errand();
  const std::string& node = errand.changed.front().path;
  auto lock = make_lock(*this, session_, spec_of(request.stock, *chosen->segment, ttl), *chosen->stage);
  Granted lease = lock->adopt(*calls, node, errand);
  if (judge(chosen->stage->rule, errand.listed, base_of(node), 0).kind == QueueTurn::Kind::kHolds) {
    return std::optional(Choice{*chosen->segment, std::move(lock), std::move(chosen->answer), std::move(lease)});
  }
  // A client that writes no versions was quicker.
  const auto undone = undo(wish);
  (void)lock->release(session_.now() + kUndoBudget);
  if (!undone) return undone.error();
  return std::optional(Choice{*chosen->segment, nullptr});
}

std::unique_ptr<LockDriver> SegmentSessionLocks::open(int /*segment*/, const LockSpec& spec) {
  session_.carry_leases(spec.ttl);
  return make_lock(*this, session_, spec, *stage_at(spec.name));
}

std::vector<Change> SegmentSessionLocks::removals() const {
  std::vector<Change> changes;
  for (const SegmentLock* lock : locks_) changes.push_back(delete_node(lock->node()));
  return changes;
}

void SegmentSessionLocks::released() {
  for (SegmentLock* lock : std::exchange(locks_, {})) lock->released();
}

}  // namespace dlock::zookeeper
