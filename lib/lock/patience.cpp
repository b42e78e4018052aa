// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/patience.h"

#include <algorithm>
#include <utility>

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;
constexpr Duration kBetweenTries = 1s;
constexpr Duration kShortestAttempt = 40ms;
/// At or near the end of the wait, so that a server is not taken for dead that was asked late, or had to be reached
/// first. One that was not reached before has had its time.
constexpr Duration kLateAttempt = 500ms;
constexpr Duration kFirstAttempt = 1s;
constexpr Duration kWorthTelling = 1s;
constexpr Duration kBehindTheWait = 1s;
constexpr Duration kShortestFarewell = 100ms;
constexpr Duration kLongestUndo = 3s;  ///< where the wait has no end of its own: who holds it, and giving up

TimePoint shortened(TimePoint end, TimePoint limit, TimePoint now) {
  return std::min(end, std::max(limit, now + kShortestFarewell));
}

}  // namespace

Duration connect_timeout_of(const WaitPolicy& policy) {
  return policy.connect_timeout > 0s ? policy.connect_timeout : kConnectTimeout;
}

std::optional<TimePoint> answer_due(const WaitPolicy& policy, TimePoint now) {
  if (policy.once) return now + connect_timeout_of(policy) + kLongestUndo;
  if (!policy.until) return std::nullopt;
  return std::max(*policy.until, now + kFirstAttempt) + kBehindTheWait;
}

std::optional<TimePoint> Patience::wait_end(TimePoint now) const {
  if (policy_.tries == 0) return policy_.until;
  return earlier(now + (policy_.retry_interval > 0s ? policy_.retry_interval : kBetweenTries), policy_.until);
}

TimePoint Patience::attempt_end(TimePoint now) const {
  const bool patient = waits_through_outages();
  const TimePoint since = patient ? now : out_since_.value_or(now);
  const Duration limit = policy_.once ? connect_timeout() : outage_limit();
  const TimePoint end = std::max(since + limit, now + kShortestAttempt);
  if (!policy_.until) return end;
  const Duration least = met_ ? kLateAttempt : out_since_ ? kShortestAttempt : kFirstAttempt;
  return std::min(end, std::max(*policy_.until, now + least));
}

TimePoint Patience::look_end(TimePoint now, Duration budget) const {
  if (!policy_.until || is_over(now)) return withdraw_end(now, budget);
  return shortened(now + budget, *policy_.until, now);
}

TimePoint Patience::withdraw_end(TimePoint now, Duration budget) const {
  if (!policy_.until) return now + budget;
  return shortened(now + budget, *policy_.until + kBehindTheWait, now);
}

void Patience::reached() {
  met_ = true;
  heard_ = false;
  out_since_.reset();
  refuses_since_.reset();
}

void Patience::failed(const Error& error, TimePoint began, TimePoint now) {
  unreached(began);
  const bool refused = error.outage != Outage::kSilent;
  if (!std::exchange(heard_, false) && !refused) refuses_since_.reset();
  else if (!refuses_since_) refuses_since_ = refused ? began : now;
}

bool Patience::may_try_again(TimePoint now) {
  ++tries_;
  return !policy_.once && !is_over(now) && (policy_.tries == 0 || tries_ < policy_.tries);
}

void Patience::unreached(TimePoint since) {
  if (!out_since_) out_since_ = since;
}

Duration Patience::outage_limit() const { return std::max(connect_timeout(), silence_); }

bool Patience::outlives(const Error& error, TimePoint now) const {
  if (error.code != ErrorCode::kUnavailable || policy_.once || is_over(now)) return false;
  if (refuses_attempts(now)) return false;
  return waits_through_outages() || !is_long_outage(now);
}

bool Patience::is_long_outage(TimePoint now) const { return out_since_ && now >= *out_since_ + outage_limit(); }

bool Patience::is_worth_telling(TimePoint now) const {
  return out_since_ && now >= *out_since_ + (met_ ? kWorthTelling : kConnectTimeout);
}

}  // namespace dlock
