// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/lock.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "backends/redis/deployment/lock_times.h"
#include "backends/redis/wire/record.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/lock/lease.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestPollPause = 250ms;

}  // namespace

NativeLock::NativeLock(std::unique_ptr<Deployment> deployment, NativeNames names, std::string store, LockSpec spec,
                       ReplicaDemand replicas, const Runtime& runtime)
    : deployment_(std::move(deployment)),
      runtime_(runtime),
      spec_(std::move(spec)),
      store_(*deployment_, spec_.name, std::move(names), store, replicas, runtime.clock),
      store_name_(std::move(store)),
      wake_(runtime.clock),
      acquisition_(spec_, runtime_, *this),
      holder_(spec_.owner),
      info_(who_text(spec_)) {}

/// How often a waiter is heard of, and looks, at the least.
Duration NativeLock::interval() const { return std::clamp<Duration>(spec_.ttl / 6, 500ms, 5s); }

NativeAsk NativeLock::make_ask() const {
  return {.owner = spec_.owner,
          .mode = spec_.mode,
          .ttl = spec_.ttl,
          .lock_delay = spec_.lock_delay,
          .permits = spec_.permits,
          .fair = spec_.fair,
          .take = spec_.take,
          .ancestor = spec_.ancestor,
          .enqueue = enqueue_,
          .polls = polls_,
          .arrival = by_ ? by_->arrival : "",
          .alive = interval() * 3,
          .info = info_,
          .slots = spec_.slots};
}

std::optional<std::variant<Granted, Refused>> NativeLock::acquire(Control& control) {
  control_ = &control;
  return acquisition_.run(control);
}

/// If an answer was lost, the same owner asks again and learns what it has.
Acquirer::Attempt NativeLock::attempt(TimePoint until, Control& control) {
  const Patience& patience = acquisition_.patience();
  // A server that hangs must not have all of the time: another one may have taken its place meanwhile.
  const Duration share = std::max<Duration>(patience.connect_timeout() / 3, kLeastPatience);
  if (!patience.is_once()) until = std::min(until, runtime_.clock.now() + share);
  asked_ = true;
  deployment_->insist(!patience.is_once());
  auto answer = store_.acquire(make_ask(), until, &control);
  deployment_->insist(true);
  sent_ = store_.sent();
  denied_ = !answer && answer.error().code == ErrorCode::kDenied;
  unknown_ =
      !answer && (answer.error().code == ErrorCode::kUnavailable || answer.error().code == ErrorCode::kCancelled);
  if (!answer) return Failed{answer.error(), store_.was_answered()};
  if (const auto* grant = std::get_if<NativeGrant>(&*answer)) return granted(*grant);
  by_ = std::get<NativeBusy>(*answer);
  trace(*by_);
  return Busy{};
}

/// One line a step, with -v; with -vv what the server has answered.
void NativeLock::trace(const NativeBusy& busy) {
  if (runtime_.log.style().verbosity == 0) return;
  const Connection* asked = deployment_->current(store_.names().key);
  const std::string server = asked ? asked->settings().endpoint.text() : store_name_;
  acquisition_.trace_answer(server, [&] {
    return "busy, place " + std::to_string(busy.place) +
           (busy.remaining ? ", lease ends in " + human_duration(*busy.remaining) : ", no end of its lease") +
           (busy.foreign ? ", another client's" : "");
  });
  acquisition_.trace(busy.arrival.empty() ? "held by somebody else on " + server
                                          : "queued at place " + std::to_string(busy.place + 1) + " on " + server);
}

void NativeLock::listen(Control& control) {
  const Connection* main = deployment_->current(store_.names().key);
  const bool heard =
      main && wake_.open(*main, store_.names().wake + spec_.owner.text(), runtime_.clock.now() + kLookBudget, &control);
  polls_ = !heard;
}

/// Asks to be told when the key changes. False if the server cannot. `changed`: it is not there any more.
bool NativeLock::watch_key(bool all_reads, bool* changed, Duration budget, Control* control) {
  if (!wake_.is_open()) return false;
  std::vector<Command> commands{wake_.tracking(all_reads)};
  if (!all_reads) commands.push_back({"CLIENT", "CACHING", "YES"});
  commands.push_back({"GET", store_.names().key});
  const auto replies = deployment_->call(store_.names().key, commands, runtime_.clock.now() + budget, control);
  if (!replies || replies->front().is_error()) return false;
  const Reply& value = replies->back();
  if (value.is_error()) return false;  // no right to read it tells nothing about whose it is
  *changed = all_reads ? value.text != holder_.text() : value.is_nil();
  return true;
}

bool NativeLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    acquisition_.pause(until, control);
    return true;
  }
  if (!enqueue_ || (!polls_ && !wake_.is_open())) {  // heard first, then asked again: no release is missed in between
    listen(control);
    enqueue_ = true;
    return true;
  }
  const auto look_at = next_look(control);
  if (!look_at) return true;
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    wake_.add_interest(fds);
    runtime_.clock.wait(fds, end);
  };
  acquisition_.wait_on({[&] { return wake_.heard(runtime_.clock.now()); }, sleep}, earlier(look_at, until), control);
  return true;
}

/// When a waiter that was told nothing looks by itself; nullopt: at once, the key has gone.
std::optional<TimePoint> NativeLock::next_look(Control& control) {
  const TimePoint now = runtime_.clock.now();
  Duration pause = interval() - jitter(interval() / 10);
  bool told = !polls_;
  if (told && (by_->foreign || by_->place == 0)) {
    bool gone = false;
    const bool watched = watch_key(false, &gone, kLookBudget, &control);
    if (gone) return std::nullopt;
    if (!watched && by_->foreign) told = false;
  }
  if (!told) {
    pause_ = std::clamp(pause_ * 2, kFirstPollPause, kLongestPollPause);
    pause = std::min(pause, pause_ / 2 + jitter(pause_ / 2));
  }
  if (by_->remaining) {
    const Duration later = spec_.fair && by_->place > 0 ? interval() / 2 : Duration(0);
    const Duration turn = std::min(by_->place, 20) * Duration(25ms);
    pause = std::min(pause, *by_->remaining + 1ms + jitter(10ms) + turn + later);
  }
  return now + std::max<Duration>(pause, 1ms);
}

Result<LockState> NativeLock::describe(Control& control) {
  return store_.read_state(runtime_.clock.now() + kLookBudget, &control);
}

Acquirer::Attempt NativeLock::granted(const NativeGrant& grant) {
  if (grant.free_only) {
    if (by_ && !by_->arrival.empty()) give_up();  // tells the next one
    return Granted{{}, std::nullopt};
  }
  holder_ = grant.owner;
  // Until then a waiter's channel stays: to close it would take time now.
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  HeldLock lock{spec_.name, holder_, grant.token, store_name_, grant.joined};
  lock.slot = grant.slot;
  return Granted{{std::move(lock)}, lease_deadline(sent_, spec_.ttl)};
}

/// Out of the queue, and whatever an unanswered attempt may have taken is given back, on a new connection if need be.
/// What went with a refused AUTH was perhaps done by a server that asks nobody for a password, and so will be this.
void NativeLock::give_up() {
  const bool queued = by_ && !by_->arrival.empty();
  const bool may_hold = holder_ != spec_.owner || unknown_ || !queued;
  const bool reached = denied_ || (unknown_ && deployment_->has_asked()) || deployment_->current(store_.names().key);
  if (!asked_ || !reached || (!queued && !may_hold)) return;
  if (acquisition_.patience().is_once() && !unknown_ && by_ && holder_ == spec_.owner) return;  // never in the queue
  const Owner entry = spec_.owner;
  (void)store_.release(holder_, &entry, runtime_.clock.now() + kGiveUpBudget, nullptr);
}

Renewal NativeLock::renew(Control& control, TimePoint until) {
  const auto renewed = store_.renew(holder_, spec_.ttl, false, until, &control);
  if (renewed) {
    sent_ = store_.sent();
    unknown_ = false;
    if (!watch_at_ && !wake_.is_open() && deaf_ < kDeafEnough) watch_at_ = runtime_.clock.now();
    return RenewalRenewed{lease_deadline(sent_, spec_.ttl)};
  }
  if (renewed.error().code == ErrorCode::kLost) return lost(renewed.error().message, until);
  return RenewalUnknown{renewed.error().message};
}

void NativeLock::add_interest(std::vector<pollfd>& fds) const {
  if (!watch_at_) wake_.add_interest(fds);
}

/// `otherwise`: why, if nobody has said that it was freed by force.
Renewal NativeLock::lost(std::string otherwise, TimePoint until) {
  const TimePoint soon = std::min(until, runtime_.clock.now() + look_budget());
  const std::string by = store_.forced_by(holder_, soon, control_);
  return RenewalLost{by.empty() ? std::move(otherwise) : forced_by(by)};
}

/// For what a holder does besides renewing: little beside a lease, so that the renewal is never late by it.
Duration NativeLock::look_budget() const { return std::min<Duration>(kLookBudget, spec_.ttl / 6); }

/// Only the one holder of an exclusive lock is told: renewals of many readers would wake each other.
Renewal NativeLock::held(TimePoint now) {
  if (spec_.mode != Mode::kExclusive) {
    watch_at_.reset();
    wake_.close();
    return RenewalHeld{};
  }
  if (watch_at_) {
    if (now < *watch_at_) return RenewalHeld{};
    watch_at_.reset();
    const Connection* main = deployment_->current(store_.names().key);
    if (!main) return RenewalHeld{};
    if (!wake_.open(*main, store_.names().wake + spec_.owner.text(), now + look_budget(), control_)) {
      ++deaf_;
      return RenewalHeld{};
    }
  } else if (!wake_.heard(now)) {
    return RenewalHeld{};
  }
  bool changed = false;
  if (!watch_key(true, &changed, look_budget(), control_)) {
    wake_.close();
    ++deaf_;
    return RenewalHeld{};
  }
  deaf_ = 0;
  if (!changed) return RenewalHeld{};
  return lost("it was force-released or deleted on " + store_name_, now + look_budget());
}

/// The channel is closed when nobody waits any more, neither for us nor for the lock: with this object.
Result<void> NativeLock::release(TimePoint until) {
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

Result<void> NativeLock::leave(Duration ttl, TimePoint until) {
  auto renewed = store_.renew(holder_, ttl, true, until, nullptr);
  while (may_ask_again(renewed, runtime_.clock, until)) renewed = store_.renew(holder_, ttl, true, until, nullptr);
  if (!renewed) return renewed.error();
  return {};
}

}  // namespace dlock::redis
