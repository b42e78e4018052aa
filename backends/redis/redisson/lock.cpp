// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>

#include "backends/redis/deployment/lock.h"
#include "backends/redis/redisson/layout.h"
#include "backends/redis/redisson/rules.h"
#include "lib/base/random.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFairInterval = 1500ms;  ///< how often a place in a fair queue is kept alive, which lasts 5 s
constexpr Duration kLongestDeafPause = 128ms;
/// After others in a fair queue, where Redisson says "at once" as long as the lock is free and its first has not come.
constexpr Duration kBehindPause = 50ms;

/// One lock in Redisson's layout. It waits as Redisson's clients do: subscribes, asks again, sleeps until a message
/// comes or the lease that it saw has ended; it also asks from time to time, because Redisson does not publish every
/// release. A holder hears of changes of its key.
class RedissonLock final : public LayoutLock {
 public:
  RedissonLock(std::unique_ptr<Deployment> deployment, RedissonKind kind, RedissonNames names, std::string store,
               LockSpec spec, ReplicaDemand replicas, const Runtime& runtime)
      : LayoutLock(std::move(deployment), std::move(store), std::move(spec), runtime),
        layout_(*deployment_, kind, spec_.name, std::move(names), store_name_, replicas, runtime.clock),
        info_(who_text(spec_)) {}

 private:
  Attempt attempt(TimePoint until, Control& control) override {
    if (!spec_.take) return look(attempt_limit(until), control);
    auto answer = ask(until, [&](TimePoint limit) { return layout_.acquire(make_ask(), limit, &control); });
    if (!answer) return failed(answer.error());
    if (const auto* granted = std::get_if<AttemptGranted>(&*answer)) {
      return grant(granted->token, {});
    }
    by_ = std::get<AttemptBusy>(*answer);
    trace_busy(by_.place, enqueue_ && layout_.kind() == RedissonKind::kFair);
    return Busy{true};  // most who hold it are not dlock's
  }

  /// With us among those that wait: only a fair lock has a list of them.
  Result<LockState> describe(Control& control) override {
    auto state = layout_.read_state(look_end(), &control);
    if (!state) return state;
    const auto is_ours = [&](const Participant& waiter) { return waiter.owner == spec_.owner.text(); };
    if (std::any_of(state->waiters.begin(), state->waiters.end(), is_ours)) return state;
    Participant we;
    we.owner = spec_.owner.text();
    we.mode = spec_.mode;
    we.since = since_;
    add_who(we, info_, false);
    state->waiters.push_back(std::move(we));
    return state;
  }

  /// Out of the queue, and whatever an unanswered attempt may have taken is given back, on a new connection if need be.
  /// A request that went with a refused AUTH was perhaps done by a server without a password, and so will be this.
  void withdraw() override {
    const bool granted = watch_at_.has_value();
    const bool queued = enqueue_ && layout_.kind() == RedissonKind::kFair;
    if (!asked_ || !(granted || queued || unknown_ || denied_)) return;
    (void)layout_.release(spec_.owner, &spec_.owner, withdraw_end());
  }

  Layout& layout() override { return layout_; }
  Connection* connection() const override { return deployment_->current(layout_.names().beside.key); }

  /// In a fair queue each has a channel of its own.
  std::string wake_channel() const override {
    const RedissonNames& names = layout_.names();
    if (layout_.kind() != RedissonKind::kFair) return names.channel;
    return names.channel + ":" + redisson_field(spec_.owner);
  }

  bool has_own_channel() const override { return false; }
  bool is_sharded() const override { return layout_.names().sharded; }

  /// When a waiter that was not notified asks by itself: the end of a lease is not announced, nor is that a write lock
  /// became a read lock.
  std::optional<TimePoint> next_look(Control& /*control*/) override {
    Duration pause = interval() - jitter(interval() / 10);
    if (!told_ || by_.foreign) {
      pause_ = std::clamp(pause_ * 2, kFirstPollPause, kLongestDeafPause);
      pause = std::min(pause, pause_ / 2 + jitter(pause_ / 2));
    }
    if (by_.remaining) pause = std::min(pause, *by_.remaining + 1ms + jitter(10ms));
    if (by_.place > 0) pause = std::max(pause, kBehindPause);
    return runtime_.clock.now() + std::max<Duration>(pause, 1ms);
  }

  std::optional<bool> is_still_ours(TimePoint until) override {
    const std::string& key = layout_.names().beside.key;
    std::string field = redisson_field(spec_.owner);
    if (layout_.kind() == RedissonKind::kReadWrite) field += ":write";
    const auto replies = deployment_->call(key, {wake_.tracking(true), {"HEXISTS", key, field}}, until, control_);
    if (!replies || replies->front().is_error()) return std::nullopt;
    if (replies->back().kind != Reply::Kind::kInteger) return std::nullopt;
    return replies->back().integer == 1;
  }

  const char* taken_away() const override { return "it expired, was force-unlocked or deleted on "; }

  RedissonAsk make_ask() const {
    return {.owner = spec_.owner, .mode = spec_.mode, .ttl = spec_.ttl, .enqueue = enqueue_, .info = info_};
  }

  Attempt look(TimePoint until, Control& control) {
    auto state = layout_.read_state(until, &control);
    if (!state) return failed(state.error());
    if (state->holders.empty()) return Granted{{}, std::nullopt};
    by_ = {};
    if (const auto end = state->holders.front().until) by_.remaining = *end - layout_.read_at();
    return Busy{true};
  }

  /// How often a waiter looks, at the least.
  Duration interval() const {
    const Duration most = layout_.kind() == RedissonKind::kFair ? kFairInterval : Duration(5s);
    return std::clamp<Duration>(spec_.ttl / 6, 500ms, most);
  }

  RedissonLayout layout_;
  std::string info_;
  AttemptBusy by_;  ///< the answer to the last attempt that was not granted
};

}  // namespace

Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime) {
  const RedissonKind kind = redisson_kind(url);
  TRY(check_fits(kind, spec));
  TRY_ASSIGN(auto names, redisson_names(kind, spec.name, is_redis_cluster(url)));
  TRY_ASSIGN(auto deployment, redis_deployment(url, runtime.clock, connect_timeout_of(spec.wait), Greet::kAlong));
  return std::unique_ptr<LockDriver>(std::make_unique<RedissonLock>(
      std::move(deployment), kind, std::move(names), url.redacted(), spec, redis_replicas(url), runtime));
}

}  // namespace dlock::redis
