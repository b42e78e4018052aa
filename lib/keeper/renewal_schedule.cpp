// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/renewal_schedule.h"

#include "lib/base/human_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// When the request that made this deadline went out. A store that gave more than was asked for is believed to have
/// been asked just now at the latest.
TimePoint sent_at(TimePoint deadline, Duration ttl, TimePoint now) {
  return std::min(now, deadline - (lease_deadline(TimePoint(), ttl) - TimePoint()));
}

/// The same share of `lease` as the interval is of the ttl.
Duration interval_within(const LockSpec& spec, Duration lease) {
  if (lease == spec.ttl) return spec.renew_interval;
  const double share = static_cast<double>(lease.count()) / static_cast<double>(spec.ttl.count());
  return std::chrono::duration_cast<Duration>(spec.renew_interval * share);
}

}  // namespace

RenewalSchedule::RenewalSchedule(const LockSpec& spec, TimePoint granted_at, std::optional<TimePoint> deadline,
                                 Duration lease)
    : lease_(lease > Duration(0) ? lease : spec.ttl), interval_(interval_within(spec, lease_)), deadline_(deadline) {
  confirmed(deadline ? sent_at(*deadline, lease_, granted_at) : granted_at);
}

TimePoint RenewalSchedule::gives_up_at(TimePoint now) const {
  return *earlier(now + std::max<Duration>(100ms, lease_ / 6), deadline_);
}

void RenewalSchedule::renewed(TimePoint began, TimePoint now, TimePoint deadline) {
  deadline_ = deadline;
  confirmed(std::max(began, sent_at(deadline, lease_, now)));
}

void RenewalSchedule::held(TimePoint now) { confirmed(now); }

void RenewalSchedule::unknown(TimePoint began, std::string why) {
  due_ = began + renewal_retry(lease_);
  last_failure_ = std::move(why);
}

std::optional<std::string> RenewalSchedule::over(TimePoint now) const {
  return deadline_ && now >= *deadline_ ? std::optional(why(now)) : std::nullopt;
}

std::string RenewalSchedule::why(TimePoint now) const {
  std::string why = "no renewal for " + human_duration(now - confirmed_);
  if (!last_failure_.empty()) why += ": " + last_failure_;
  return why;
}

void RenewalSchedule::confirmed(TimePoint sent) {
  confirmed_ = sent;
  const Duration whole = lease_deadline(sent, lease_) - sent;
  const Duration given = deadline_ ? std::clamp(*deadline_ - sent, Duration(0), whole) : whole;
  const double share = static_cast<double>(given.count()) / static_cast<double>(whole.count());
  due_ = sent + std::chrono::duration_cast<Duration>(interval_ * share);
  last_failure_.clear();
}

}  // namespace dlock
