// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/segment_locks.h"

#include <algorithm>
#include <chrono>

#include "backends/zookeeper/lock/lock.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/stock/segment_choice.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kUndoBudget = 3s;
constexpr int kGateAfter = 30;  ///< lost tries

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
  Granted adopt(std::shared_ptr<Calls> calls, std::vector<std::string> nodes, const Errand& errand) {
    home_.locks_.push_back(this);
    return lock_->adopt(std::move(calls), std::move(nodes), errand.zxid, errand.sent);
  }
  Renewal renew(Control& control, TimePoint until) override { return lock_->renew(control, until); }
  void add_interest(std::vector<pollfd>& fds) const override { lock_->add_interest(fds); }
  std::optional<TimePoint> wake_at() const override { return lock_->wake_at(); }
  Renewal held(TimePoint now) override { return lock_->held(now); }
  Result<void> release(TimePoint until) override {
    forget();
    return lock_->release(until);
  }
  Result<void> leave(Duration /*ttl*/, TimePoint until) override { return release(until); }

  const std::vector<std::string>& nodes() const { return lock_->nodes(); }
  void released() { lock_->released(); }

 private:
  void forget() { std::erase(home_.locks_, this); }

  SegmentSessionLocks& home_;
  const std::unique_ptr<ZookeeperLock> lock_;
};

namespace {

std::unique_ptr<SegmentLock> make_lock(SegmentSessionLocks& home, StockSession& session, const LockSpec& spec,
                                       const Stage& stage) {
  return std::make_unique<SegmentLock>(
      home, std::make_unique<ZookeeperLock>(session.ensemble(), spec, stage.directory, std::vector<Stage>{stage},
                                            session.runtime(), &session));
}

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

Result<std::optional<SegmentLocks::Choice>> SegmentSessionLocks::lock_one(const StockRequest& request, int start,
                                                                          Duration ttl, const CallLimit& limit) {
  session_.carry_leases(ttl);
  const auto label = [&](int segment) { return encode(record_of(spec_of(request.stock, segment, ttl))); };
  const SegmentChoice::Wish wish{request, start, std::chrono::ceil<std::chrono::milliseconds>(ttl).count(),
                                 spec_ && spec_->stock ? &spec_->owner : nullptr, label};
  Errand errand;
  SegmentChoice choice(wish, session_, limit, errand);
  StockCall call = open_call_(request.stock, limit);
  const auto done = call.with(errand).run(kGateAfter, [&](StockCall& one) { return choice.decide(one); });
  if (!done && call.is_missing()) return std::optional<Choice>();
  if (!done || choice.is_unsure()) {
    session_.retire();  // with the nodes of the lock, should they have been made
    return done ? Error{ErrorCode::kUnavailable, "an answer of " + session_.store() + " was lost"} : done.error();
  }
  std::optional<StockAnswer> answer = choice.answer();
  auto* taken = answer ? std::get_if<StockTaken>(&*answer) : nullptr;
  if (!choice.is_free()) {
    // A reservation of ours that is there already is of no segment whose lock we have.
    if (taken && !taken->repeated) return Error{ErrorCode::kUnavailable, "an earlier try has set something aside"};
    if (answer) return std::optional(Choice{0, nullptr, std::move(answer)});
    if (!choice.segment()) return std::optional<Choice>();
    return std::optional(Choice{*choice.segment(), nullptr});
  }
  if (taken) taken->token = call.token();
  const auto calls = session_.share(limit.until, limit.control);
  if (!calls) return calls.error();
  std::vector<std::string> nodes;
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < errand.changed.size(); ++i) {  // the last one is the directory
    nodes.push_back(errand.changed[i].path);
    names.push_back(base_of(nodes.back()));
  }
  auto lock = make_lock(*this, session_, spec_of(request.stock, *choice.segment(), ttl), choice.stage());
  Granted lease = lock->adopt(*calls, nodes, errand);
  if (judge(choice.stage().rule, errand.listed, names, 0).kind == Verdict::Kind::kHolds) {
    return std::optional(Choice{*choice.segment(), std::move(lock), std::move(answer), std::move(lease)});
  }
  // Somebody who writes no versions was quicker.
  const auto undone = wish.owner ? stock_.cancel(request, *wish.owner, limit) : Result<void>();
  (void)lock->release(session_.now() + kUndoBudget);
  if (!undone) return undone.error();
  return std::optional(Choice{*choice.segment(), nullptr});
}

std::unique_ptr<LockDriver> SegmentSessionLocks::open(int /*segment*/, const LockSpec& spec) {
  session_.carry_leases(spec.ttl);
  const auto directory = directory_of(session_.root(), spec.name);
  const auto stages = stages_of(Recipe::kBridge, directory ? *directory : std::string(), Mode::kExclusive, 0);
  return make_lock(*this, session_, spec, stages->back());
}

Result<std::optional<StockAnswer>> SegmentSessionLocks::reserve_at_once(const StockRequest& /*request*/,
                                                                        const Owner& /*owner*/, Duration /*ttl*/,
                                                                        int /*segment*/, TimePoint /*until*/,
                                                                        const CallLimit& /*limit*/) {
  return std::optional<StockAnswer>();
}

std::vector<Change> SegmentSessionLocks::removals() const {
  std::vector<Change> changes;
  for (const SegmentLock* lock : locks_) {
    for (const std::string& node : lock->nodes()) {
      changes.push_back({Change::Kind::kDelete, node, "", NodeKind::kPersistent, -1});
    }
  }
  return changes;
}

void SegmentSessionLocks::released() {
  for (SegmentLock* lock : std::exchange(locks_, {})) lock->released();
}

}  // namespace dlock::zookeeper
