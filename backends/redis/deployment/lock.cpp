// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/lock.h"

#include <utility>

#include "lib/keeper/insist.h"
#include "lib/lock/lease.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLeastPatience = 500ms;  ///< the least time of one attempt of several

}  // namespace

LayoutLock::LayoutLock(std::unique_ptr<Deployment> deployment, std::string store, LockSpec spec, const Runtime& runtime)
    : deployment_(std::move(deployment)),
      runtime_(runtime),
      spec_(std::move(spec)),
      store_name_(std::move(store)),
      wake_(runtime.clock),
      acquisition_(spec_, runtime_, *this) {}

std::optional<std::variant<Granted, Refused>> LayoutLock::acquire(Control& control) {
  control_ = &control;
  since_ = runtime_.clock.wall();
  return acquisition_.run(control);
}

Error LayoutLock::failed(Error error) {
  if (layout().was_answered()) error.outage = Outage::kRefused;
  return error;
}

TimePoint LayoutLock::attempt_limit(TimePoint until) const {
  const Patience& patience = acquisition_.patience();
  if (patience.is_once()) return until;
  const Duration share = std::max<Duration>(patience.connect_timeout() / 3, kLeastPatience);
  return std::min(until, runtime_.clock.now() + share);
}

bool LayoutLock::listen(TimePoint until, Control* control) {
  const Connection* main = connection();
  return main && wake_.open(*main, wake_channel(), until, control, is_sharded());
}

bool LayoutLock::wait(std::optional<TimePoint> until, Control& control) {
  if (!acquisition_.patience().queues()) {
    acquisition_.pause(until, control);
    return true;
  }
  wake_.follow(connection());
  if (!enqueue_ || (told_ && !wake_.is_open())) {  // heard first, then asked again: no release is missed in between
    told_ = listen(look_end(), &control);
    enqueue_ = true;
    return true;
  }
  const auto look_at = next_look(control);
  if (!look_at) return true;
  const auto sleep = [&](std::optional<TimePoint> end) {
    std::vector<pollfd> fds;
    control.add_interest(fds);
    wake_.add_interest(fds);
    runtime_.clock.wait(fds, earlier(end, wake_.wake_at()));
  };
  acquisition_.wait_on({[&] { return wake_.heard(runtime_.clock.now()); }, sleep}, earlier(look_at, until), control);
  return true;
}

void LayoutLock::trace_busy(int place, bool queued) {
  if (!runtime_.log.style().verbose) return;
  const Connection* asked = connection();
  const std::string server = asked ? asked->settings().endpoint.text() : store_name_;
  acquisition_.trace(queued ? "queued at place " + std::to_string(place + 1) + " on " + server
                            : "already held on " + server);
}

Granted LayoutLock::grant(FencingToken token, std::string slot) {
  // Until then a waiter's channel stays: to close it would take time now.
  watch_at_ = runtime_.clock.now() + kFirstWatch;
  HeldLock lock{spec_.name, spec_.owner, token, store_name_};
  lock.slot = std::move(slot);
  leased_at_ = layout().sent();
  return {{std::move(lock)}, lease_deadline(leased_at_, spec_.ttl)};
}

Renewal LayoutLock::renew(Control& control, TimePoint until) {
  const auto renewed = layout().renew(spec_.owner, spec_.ttl, false, "", until, &control);
  if (renewed) {
    unknown_ = false;
    leased_at_ = layout().sent();
    const Connection* main = connection();
    wake_.follow(main);
    const bool is_told = wake_.is_open() && (!main || main->opened() == watched_);
    if (!watch_at_ && !is_told && deafness_.tries()) watch_at_ = runtime_.clock.now();
    return RenewalRenewed{lease_deadline(leased_at_, spec_.ttl), layout().revoked()};
  }
  if (renewed.error().code == ErrorCode::kLost) return RenewalLost{renewed.error().message};
  return RenewalUnknown{renewed.error().message};
}

/// Nothing comes on the first connection between two renewals but its end, which is how a server says that it may have
/// forgotten the lock.
void LayoutLock::add_interest(std::vector<pollfd>& fds) const {
  if (const Connection* first = connection()) first->add_interest(fds);
  if (!watch_at_) wake_.add_interest(fds);
}

/// For what a holder does besides renewing: little beside a lease, so that the renewal is never late by it.
Duration LayoutLock::look_budget() const { return std::min<Duration>(kLookBudget, spec_.ttl / 6); }

/// Of many readers those that share a channel do not listen: each renewal would wake all of them.
Renewal LayoutLock::held(TimePoint now) {
  if (Connection* first = connection(); first && !first->is_closed()) {
    if (const auto alive = first->advance(now); !alive) return RenewalDue{alive.error().message};
  }
  if (spec_.mode != Mode::kExclusive && !has_own_channel()) {
    watch_at_.reset();
    wake_.close();
    return RenewalHeld{};
  }
  const TimePoint until = now + look_budget();
  const bool was_told = !watch_at_;
  if (watch_at_) {
    if (now < *watch_at_) return RenewalHeld{};
    watch_at_.reset();
    if (!listen(until, control_)) {
      deafness_.failed();
      return RenewalHeld{};
    }
  } else if (!wake_.heard(now)) {
    return RenewalHeld{};
  }
  const bool ended = !wake_.is_open();
  const auto ours = ended ? std::nullopt : is_still_ours(until);
  if (!ours) {
    wake_.close();
    deafness_.failed();
    return ended ? Renewal(RenewalDue{"the connection that watches it has ended"}) : RenewalHeld{};
  }
  deafness_.over();
  if (const Connection* main = connection()) watched_ = main->opened();
  if (*ours && !revoked_.empty()) return RevocationRequested{{}, revoked_};
  if (*ours && was_told) wake_.was_nothing(now);
  if (*ours) return RenewalHeld{};
  return RenewalLost{taken_away() + store_name_};
}

/// The channel is closed with this object, when neither we nor others wait any more.
Result<void> LayoutLock::release(TimePoint until) {
  return insist_gone(
      runtime_.clock, until, kFirstPollPause, unknown_,
      [&] { return layout().release(spec_.owner, &spec_.owner, until); }, [&] { return layout().was_answered(); });
}

/// A lease that has just begun need not begin again: nothing can go wrong with it any more.
Result<void> LayoutLock::leave(const LeaveSpec& spec, TimePoint until) {
  const Duration ttl = spec.ttl;
  if (spec.ran.empty() && ttl == spec_.ttl && has_just_begun(leased_at_, runtime_.clock.now(), ttl)) return {};
  Layout& held = layout();
  const auto renewed = insist(runtime_.clock, until, kAskAgainPause, [&] {
                         return held.renew(spec_.owner, ttl, true, spec.ran, until, nullptr);
                       }).answer;
  return renewed ? Result<void>() : renewed.error();
}

}  // namespace dlock::redis
