// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/lock.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "backends/redis/wire/record.h"
#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/lock/lease.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstWatch = 200ms;     ///< a lock held for less is not worth a second connection
constexpr Duration kGiveUpBudget = 1s;      ///< to take back what may have been created
constexpr Duration kFirstPollPause = 10ms;  ///< of a poller
constexpr Duration kLongestPollPause = 250ms;
constexpr Duration kReconnectPause = 40ms;  ///< before a server that could not be reached is tried again
constexpr Duration kLookBudget = 1s;
constexpr int kDeafEnough = 3;              ///< then it is not tried any more: the renewals tell as well, only later
constexpr Duration kLeastPatience = 500ms;  ///< with one attempt of several

}  // namespace

NativeLock::NativeLock(std::unique_ptr<Deployment> deployment, NativeNames names, std::string store, LockSpec spec,
                       ReplicaDemand replicas, const Runtime& runtime)
    : deployment_(std::move(deployment)),
      runtime_(runtime),
      spec_(std::move(spec)),
      store_(*deployment_, spec_.name, std::move(names), store, replicas, runtime.clock),
      store_name_(std::move(store)),
      wake_(runtime.clock),
      holder_(spec_.owner),
      info_(who_text(spec_.reason)) {}

/// How often a waiter is heard of, and looks, at the least.
Duration NativeLock::interval() const { return std::clamp<Duration>(spec_.ttl / 6, 500ms, 5s); }

NativeAsk NativeLock::make_ask(bool enqueue) const {
  return {.owner = spec_.owner,
          .mode = spec_.mode,
          .ttl = spec_.ttl,
          .lock_delay = spec_.lock_delay,
          .permits = spec_.permits,
          .fair = spec_.fair,
          .take = spec_.take,
          .ancestor = spec_.ancestor,
          .enqueue = enqueue,
          .polls = polls_,
          .arrival = arrival_,
          .alive = interval() * 3,
          .info = info_};
}

Result<NativeAnswer> NativeLock::attempt(Control& control, bool enqueue) {
  const TimePoint now = runtime_.clock.now();
  tried_ = now;
  asked_ = true;
  TimePoint until = now + connect_timeout();
  if (out_since_ && !outlives_outages()) until = std::max(*out_since_ + connect_timeout(), now + kFirstPollPause);
  // A server that hangs must not have all of the time: another one may have taken its place meanwhile.
  if (!spec_.wait.once) until = std::min(until, now + std::max<Duration>(connect_timeout() / 3, kLeastPatience));
  if (outlives_outages() && spec_.wait.until)
    until = std::min(until, std::max(*spec_.wait.until, now + kLeastPatience));
  deployment_->insist(!spec_.wait.once);
  auto answer = store_.acquire(make_ask(enqueue), until, &control);
  deployment_->insist(true);
  sent_ = store_.sent();
  denied_ = !answer && answer.error().code == ErrorCode::kDenied;
  unknown_ =
      !answer && (answer.error().code == ErrorCode::kUnavailable || answer.error().code == ErrorCode::kCancelled);
  return answer;
}

/// nullopt: stop. Tries until the store has said yes or no, or the time is over.
NativeLock::Answer NativeLock::acquire(Control& control) {
  bool enqueue = false;
  control_ = &control;
  while (true) {
    const auto answer = attempt(control, enqueue);
    if (control.stop_requested()) return stopped();
    if (!answer) {
      if (!worth_another_try(answer.error())) return refuse(answer.error());
      if (!pause(kReconnectPause + jitter(kReconnectPause), control)) return stopped();
      continue;
    }
    out_since_.reset();
    if (const auto* grant = std::get_if<NativeGrant>(&*answer)) return granted(*grant);
    const auto& state = std::get<NativeBusy>(*answer);
    arrival_ = state.arrival;
    ++attempts_;
    trace(state);
    const bool counted = spec_.wait.tries > 0;
    if (spec_.wait.once || (counted && attempts_ >= spec_.wait.tries) || time_is_over(runtime_.clock.now())) {
      return busy(control);
    }
    if (counted) {
      const Duration pause = spec_.wait.retry_interval > 0s ? spec_.wait.retry_interval : 1s;
      if (!wait_until(runtime_.clock.now() + pause, control)) return stopped();
      continue;
    }
    if (!enqueue || (!polls_ && !wake_.is_open())) {  // heard first, then asked again: no release is missed in between
      listen(control);
      enqueue = true;
      if (control.stop_requested()) return stopped();
      continue;
    }
    if (!wait_for_turn(state, control)) return stopped();
  }
}

/// A server that cannot be reached is tried again for the connection's time-out, counted from when it was last well. If
/// an answer was lost, the same owner asks again and learns what it has.
bool NativeLock::worth_another_try(const Error& error) {
  if (error.code != ErrorCode::kUnavailable || spec_.wait.once || time_is_over(runtime_.clock.now())) return false;
  if (!out_since_) {
    out_since_ = tried_;
    trace("tried again: " + error.message);
  }
  return (outlives_outages() && !store_.was_answered()) || runtime_.clock.now() < *out_since_ + connect_timeout();
}

/// One line a step, with -v; with -vv what the server has answered.
void NativeLock::trace(const std::string& step, int verbosity) const {
  if (runtime_.log.style().verbosity >= verbosity) runtime_.log.verbose(spec_.name.text() + ": " + step);
}

void NativeLock::trace(const NativeBusy& busy) {
  if (runtime_.log.style().verbosity == 0) return;
  const Connection* asked = deployment_->current(store_.names().key);
  const std::string server = asked ? asked->settings().endpoint.text() : store_name_;
  trace(server + " answers: busy, place " + std::to_string(busy.place) +
            (busy.remaining ? ", lease ends in " + human_duration(*busy.remaining) : ", no end of its lease") +
            (busy.foreign ? ", another client's" : ""),
        2);
  const int place = arrival_.empty() ? -2 : busy.place;
  if (std::exchange(told_place_, place) == place) return;
  trace(arrival_.empty() ? "held by somebody else on " + server
                         : "queued at place " + std::to_string(busy.place + 1) + " on " + server);
}

/// The connection's time-out is for the first contact: a waiter waits as long as it was told to.
bool NativeLock::outlives_outages() const { return attempts_ > 0 && spec_.wait.outlives_outages(); }

Duration NativeLock::connect_timeout() const {
  return spec_.wait.connect_timeout > 0s ? spec_.wait.connect_timeout : 5s;
}

/// False: stop.
bool NativeLock::pause(Duration length, Control& control) {
  const TimePoint until = runtime_.clock.now() + length;
  while (!control.stop_requested() && runtime_.clock.now() < until) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    runtime_.clock.wait(fds, until);
  }
  return !control.stop_requested();
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

/// False: stop.
bool NativeLock::wait_for_turn(const NativeBusy& busy, Control& control) {
  const TimePoint now = runtime_.clock.now();
  Duration pause = interval() - jitter(interval() / 10);
  bool told = !polls_;
  if (told && (busy.foreign || busy.place == 0)) {
    bool gone = false;
    const bool watched = watch_key(false, &gone, kLookBudget, &control);
    if (control.stop_requested()) return false;
    if (gone) return true;
    if (!watched && busy.foreign) told = false;
  }
  if (!told) {
    pause_ = std::clamp(pause_ * 2, kFirstPollPause, kLongestPollPause);
    pause = std::min(pause, pause_ / 2 + jitter(pause_ / 2));
  }
  if (busy.remaining) {
    const Duration later = spec_.fair && busy.place > 0 ? interval() / 2 : Duration(0);
    const Duration turn = std::min(busy.place, 20) * Duration(25ms);
    pause = std::min(pause, *busy.remaining + 1ms + jitter(10ms) + turn + later);
  }
  return wait_until(now + std::max<Duration>(pause, 1ms), control);
}

bool NativeLock::time_is_over(TimePoint now) const { return spec_.wait.until && now >= *spec_.wait.until; }

/// Waits until something is heard or the time has come; answers "who" meanwhile. False: stop.
bool NativeLock::wait_until(TimePoint until, Control& control) {
  if (spec_.wait.until) until = std::min(until, *spec_.wait.until);
  while (true) {
    if (control.stop_requested()) return false;
    if (control.take_who()) {
      auto state = store_.look(runtime_.clock.now() + kLookBudget, &control);
      if (state) control.tell(Waiting{std::move(*state)});
    }
    const TimePoint now = runtime_.clock.now();
    if (wake_.heard(now) || now >= until) return !control.stop_requested();
    std::vector<pollfd> fds;
    control.add_interest(fds);
    wake_.add_interest(fds);
    runtime_.clock.wait(fds, until);
  }
}

NativeLock::Answer NativeLock::granted(const NativeGrant& grant) {
  if (grant.free_only) {
    if (!arrival_.empty()) give_up();  // tells the next one
    return Granted{{}, std::nullopt};
  }
  holder_ = grant.owner;
  // Until then a waiter's channel stays: to close it would take time now.
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  return Granted{{{spec_.name, holder_, grant.token, store_name_, grant.joined}}, lease_deadline(sent_, spec_.ttl)};
}

NativeLock::Answer NativeLock::refuse(Error error) {
  give_up();
  return Refused{std::move(error), std::nullopt};
}

NativeLock::Answer NativeLock::busy(Control& control) {
  std::optional<LockState> state;
  if (auto seen = store_.look(runtime_.clock.now() + kLookBudget, &control)) state = std::move(*seen);
  give_up();
  if (state) {
    std::erase_if(state->waiters, [&](const Participant& waiter) { return waiter.owner == spec_.owner.text(); });
  }
  return Refused{{ErrorCode::kBusy, spec_.name.text() + " is held by somebody else"}, std::move(state)};
}

NativeLock::Answer NativeLock::stopped() {
  give_up();
  return std::nullopt;
}

/// Out of the queue, and whatever an unanswered attempt may have taken is given back, on a new connection if need be.
/// What went with a refused AUTH was perhaps done by a server that asks nobody for a password, and so will be this.
void NativeLock::give_up() {
  const bool queued = !arrival_.empty();
  const bool may_hold = holder_ != spec_.owner || unknown_ || !queued;
  const bool reached = denied_ || (unknown_ && deployment_->has_asked()) || deployment_->current(store_.names().key);
  if (!asked_ || !reached || (!queued && !may_hold)) return;
  if (spec_.wait.once && !unknown_ && attempts_ > 0 && holder_ == spec_.owner) return;  // it was never in the queue
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
  if (renewed.error().code == ErrorCode::kLost) return RenewalLost{renewed.error().message};
  return RenewalUnknown{renewed.error().message};
}

void NativeLock::add_interest(std::vector<pollfd>& fds) const {
  if (!watch_at_) wake_.add_interest(fds);
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
  return RenewalLost{"it was force-released or deleted on " + store_name_};
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
  while (true) {
    const auto renewed = store_.renew(holder_, ttl, true, until, nullptr);
    if (renewed) return {};
    const TimePoint next = runtime_.clock.now() + kReconnectPause;
    if (renewed.error().code != ErrorCode::kUnavailable || next >= until) return renewed.error();
    std::vector<pollfd> nothing;
    runtime_.clock.wait(nothing, next);
  }
}

}  // namespace dlock::redis
