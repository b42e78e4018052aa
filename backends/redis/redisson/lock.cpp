// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/redisson/lock.h"

#include <algorithm>

#include "backends/redis/deployment/lock_times.h"
#include "backends/redis/deployment/settings.h"
#include "backends/redis/redisson/rules.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/lock/lease.h"
#include "lib/lock/patience.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFairInterval = 1500ms;  ///< how often a place in a fair queue is kept alive, which lasts 5 s
constexpr Duration kLongestSpinPause = 128ms;
/// Behind others in a fair queue, where Redisson says "at once" as long as the lock is free and its first has not come.
constexpr Duration kBehindPause = 50ms;

}  // namespace

RedissonLock::RedissonLock(std::unique_ptr<Deployment> deployment, RedissonKind kind, RedissonNames names,
                           std::string store, LockSpec spec, ReplicaDemand replicas, const Runtime& runtime)
    : deployment_(std::move(deployment)),
      runtime_(runtime),
      spec_(std::move(spec)),
      store_(*deployment_, kind, spec_.name, std::move(names), store, replicas, runtime.clock),
      store_name_(std::move(store)),
      wake_(runtime.clock),
      acquisition_(spec_, runtime_, *this),
      holder_(spec_.owner),
      info_(who_text(spec_)) {}

/// How often a waiter looks, at the least.
Duration RedissonLock::interval() const {
  const Duration most = store_.kind() == RedissonKind::kFair ? kFairInterval : Duration(5s);
  return std::clamp<Duration>(spec_.ttl / 6, 500ms, most);
}

RedissonAsk RedissonLock::make_ask() const {
  return {.owner = spec_.owner,
          .mode = spec_.mode,
          .ttl = spec_.ttl,
          .permits = spec_.permits,
          .ancestor = spec_.ancestor,
          .enqueue = enqueue_,
          .info = info_};
}

std::optional<std::variant<Granted, Refused>> RedissonLock::acquire(Control& control) {
  control_ = &control;
  since_ = runtime_.clock.wall();
  return acquisition_.run(control);
}

/// If an answer was lost, the same owner asks again and learns what it has.
Acquirer::Attempt RedissonLock::attempt(TimePoint until, Control& control) {
  const Patience& patience = acquisition_.patience();
  // A server that hangs must not have all of the time: another one may have taken its place meanwhile.
  const Duration share = std::max<Duration>(patience.connect_timeout() / 3, kLeastPatience);
  if (!patience.is_once()) until = std::min(until, runtime_.clock.now() + share);
  if (!spec_.take) return look(until, control);
  asked_ = true;
  deployment_->insist(!patience.is_once());
  auto answer = store_.acquire(make_ask(), until, &control);
  deployment_->insist(true);
  denied_ = !answer && answer.error().code == ErrorCode::kDenied;
  unknown_ =
      !answer && (answer.error().code == ErrorCode::kUnavailable || answer.error().code == ErrorCode::kCancelled);
  if (!answer) return Failed{answer.error(), store_.was_answered()};
  if (const auto* grant = std::get_if<RedissonGrant>(&*answer)) return granted(*grant);
  by_ = std::get<RedissonBusy>(*answer);
  trace();
  return Busy{};
}

/// For who only waits until nobody holds it.
Acquirer::Attempt RedissonLock::look(TimePoint until, Control& control) {
  auto state = store_.read_state(until, &control);
  if (!state) return Failed{state.error(), store_.was_answered()};
  if (state->holders.empty()) return Granted{{}, std::nullopt};
  by_ = {};
  if (const auto end = state->holders.front().until) by_.remaining = *end - runtime_.clock.wall();
  return Busy{};
}

/// One line a step, with -v; with -vv what the server has answered.
void RedissonLock::trace() {
  if (runtime_.log.style().verbosity == 0) return;
  const Connection* asked = deployment_->current(store_.names().beside.key);
  const std::string server = asked ? asked->settings().endpoint.text() : store_name_;
  acquisition_.trace_answer(server, [&] {
    return "busy, place " + std::to_string(by_.place) +
           (by_.remaining ? ", ends in " + human_duration(*by_.remaining) : ", no end of its lease") +
           (by_.foreign ? ", another client's" : "");
  });
  acquisition_.trace(store_.kind() == RedissonKind::kFair && enqueue_
                         ? "queued at place " + std::to_string(by_.place + 1) + " on " + server
                         : "held by somebody else on " + server);
}

/// In a fair queue each has a channel of its own.
std::string RedissonLock::wake_channel() const {
  const RedissonNames& names = store_.names();
  if (store_.kind() != RedissonKind::kFair) return names.channel;
  return names.channel + ":" + redisson_field(store_.kind(), spec_.owner);
}

/// To the server that answers now: of a cluster only the node of the slot has what is published within it.
bool RedissonLock::listen(TimePoint until, Control* control) {
  const Connection* main = deployment_->current(store_.names().beside.key);
  if (!main || !wake_.open(*main, wake_channel(), until, control, store_.names().sharded)) return false;
  heard_from_ = main->settings().endpoint;
  return true;
}

bool RedissonLock::is_listening() {
  const Connection* main = deployment_->current(store_.names().beside.key);
  return wake_.is_open() && (!main || main->settings().endpoint == heard_from_);
}

bool RedissonLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    acquisition_.pause(until, control);
    return true;
  }
  if (!enqueue_ || (told_ && !is_listening())) {  // heard first, then asked again: no release is missed in between
    told_ = listen(runtime_.clock.now() + kLookBudget, &control);
    enqueue_ = true;
    return true;
  }
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    wake_.add_interest(fds);
    runtime_.clock.wait(fds, end);
  };
  acquisition_.wait_on({[&] { return wake_.heard(runtime_.clock.now()); }, sleep}, earlier(next_look(), until),
                       control);
  return true;
}

/// When a waiter that was told nothing asks by itself: an end of a lease is told to nobody, nor is that a write lock
/// became a read lock, nor the release of a spin lock.
TimePoint RedissonLock::next_look() {
  Duration pause = interval() - jitter(interval() / 10);
  if (!told_ || by_.foreign || store_.kind() == RedissonKind::kSpin) {
    pause_ = std::clamp(pause_ * 2, kFirstPollPause, kLongestSpinPause);
    pause = std::min(pause, pause_ / 2 + jitter(pause_ / 2));
  }
  if (by_.remaining) pause = std::min(pause, *by_.remaining + 1ms + jitter(10ms));
  if (by_.place > 0) pause = std::max(pause, kBehindPause);
  return runtime_.clock.now() + std::max<Duration>(pause, 1ms);
}

/// With us among those that wait: only a fair lock has a list of them.
Result<LockState> RedissonLock::describe(Control& control) {
  auto state = store_.read_state(runtime_.clock.now() + kLookBudget, &control);
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

Acquirer::Attempt RedissonLock::granted(const RedissonGrant& grant) {
  holder_ = grant.owner;
  // Until then a waiter's channel stays: to close it would take time now.
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  return Granted{{HeldLock{spec_.name, holder_, grant.token, store_name_, grant.joined}},
                 lease_deadline(store_.sent(), spec_.ttl)};
}

/// Out of the queue, and whatever an unanswered attempt may have taken is given back, on a new connection if need be.
/// What went with a refused AUTH was perhaps done by a server that asks nobody for a password, and so will be this.
void RedissonLock::give_up() {
  const bool granted = watch_at_.has_value();
  const bool queued = enqueue_ && store_.kind() == RedissonKind::kFair;
  if (!asked_ || !(granted || queued || unknown_ || denied_)) return;
  if (!deployment_->has_asked() && !denied_) return;
  const Owner entry = spec_.owner;
  (void)store_.release(holder_, &entry, runtime_.clock.now() + kGiveUpBudget, nullptr);
}

Renewal RedissonLock::renew(Control& control, TimePoint until) {
  const auto renewed = store_.renew(holder_, spec_.ttl, false, until, &control);
  if (renewed) {
    unknown_ = false;
    if (!watch_at_ && !wake_.is_open() && deaf_ < kDeafEnough) watch_at_ = runtime_.clock.now();
    return RenewalRenewed{lease_deadline(store_.sent(), spec_.ttl)};
  }
  if (renewed.error().code == ErrorCode::kLost) return lost(renewed.error().message, until);
  return RenewalUnknown{renewed.error().message};
}

void RedissonLock::add_interest(std::vector<pollfd>& fds) const {
  if (!watch_at_) wake_.add_interest(fds);
}

/// `otherwise`: why, if nobody has said that it was freed by force.
Renewal RedissonLock::lost(std::string otherwise, TimePoint until) {
  const TimePoint soon = std::min(until, runtime_.clock.now() + look_budget());
  const std::string by = store_.forced_by(holder_, soon, control_);
  return RenewalLost{by.empty() ? std::move(otherwise) : forced_by(by)};
}

/// For what a holder does besides renewing: little beside a lease, so that the renewal is never late by it.
Duration RedissonLock::look_budget() const { return std::min<Duration>(kLookBudget, spec_.ttl / 6); }

/// Asks to be told when the key changes, and whether it is ours now; nullopt: the server cannot.
std::optional<bool> RedissonLock::is_still_ours(TimePoint until) {
  if (!wake_.is_open()) return std::nullopt;
  const std::string& key = store_.names().beside.key;
  std::string field = redisson_field(store_.kind(), holder_);
  if (store_.kind() == RedissonKind::kReadWrite) field += ":write";
  const auto replies = deployment_->call(key, {wake_.tracking(true), {"HEXISTS", key, field}}, until, control_);
  if (!replies || replies->front().is_error()) return std::nullopt;
  if (replies->back().kind != Reply::Kind::kInteger) return std::nullopt;
  return replies->back().integer == 1;
}

/// Only the one holder of an exclusive lock is told: renewals of many readers would wake each other.
Renewal RedissonLock::held(TimePoint now) {
  if (spec_.mode != Mode::kExclusive) {
    watch_at_.reset();
    wake_.close();
    return RenewalHeld{};
  }
  const TimePoint until = now + look_budget();
  if (watch_at_) {
    if (now < *watch_at_) return RenewalHeld{};
    watch_at_.reset();
    if (!listen(until, control_)) {
      ++deaf_;
      return RenewalHeld{};
    }
  } else if (!wake_.heard(now)) {
    return RenewalHeld{};
  }
  const auto ours = is_still_ours(until);
  if (!ours) {
    wake_.close();
    ++deaf_;
    return RenewalHeld{};
  }
  deaf_ = 0;
  if (*ours) return RenewalHeld{};
  return lost("it was force-unlocked or deleted on " + store_name_, until);
}

Result<void> RedissonLock::release(TimePoint until) {
  const Owner entry = spec_.owner;
  bool unanswered = unknown_;
  while (true) {
    const auto released = store_.release(holder_, &entry, until, nullptr);
    if (released) return {};
    const ErrorCode code = released.error().code;
    if (code == ErrorCode::kLost) return unanswered ? Result<void>() : released;
    if (code != ErrorCode::kUnavailable || runtime_.clock.now() >= until) return released;
    unanswered = true;
    std::vector<pollfd> nothing;
    runtime_.clock.wait(nothing, std::min(until, runtime_.clock.now() + kFirstPollPause));
  }
}

Result<void> RedissonLock::leave(Duration ttl, TimePoint until) {
  auto renewed = store_.renew(holder_, ttl, true, until, nullptr);
  while (may_ask_again(renewed, runtime_.clock, until)) renewed = store_.renew(holder_, ttl, true, until, nullptr);
  if (!renewed) return renewed.error();
  return {};
}

Result<std::unique_ptr<LockDriver>> keep_redisson_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime) {
  const RedissonKind kind = redisson_kind(url);
  if (auto fits = check_fits(kind, spec); !fits) return fits.error();
  auto names = redisson_names(kind, spec.name, is_redis_cluster(url));
  if (!names) return names.error();
  auto deployment = redis_deployment(url, runtime.clock, connect_timeout_of(spec.wait), Greet::kAlong);
  if (!deployment) return deployment.error();
  return std::unique_ptr<LockDriver>(std::make_unique<RedissonLock>(
      std::move(*deployment), kind, std::move(*names), url.redacted(), spec, redis_replicas(url), runtime));
}

}  // namespace dlock::redis
