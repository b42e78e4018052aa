// SPDX-License-Identifier: Apache-2.0
#include "lib/history/time_axis.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "lib/base/human_text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr microseconds kDay = 24h;

/// The least round step that is not shorter than `least`.
microseconds round_step(microseconds least) {
  constexpr microseconds kSteps[] = {
      1ms, 2ms, 5ms,  10ms,     20ms,     50ms,     100ms,     200ms,     500ms,     1s,        2s, 5s,
      10s, 15s, 30s,  1min,     2min,     5min,     10min,     15min,     30min,     1h,        2h, 3h,
      6h,  12h, kDay, 2 * kDay, 4 * kDay, 7 * kDay, 14 * kDay, 28 * kDay, 91 * kDay, 365 * kDay};
  const auto* step = std::find_if(std::begin(kSteps), std::end(kSteps), [&](microseconds one) { return one >= least; });
  return step == std::end(kSteps) ? least : *step;
}

std::string counted(microseconds since, microseconds step) {
  if (since >= 1min) return human_duration(since);
  char text[32];
  const int digits = step >= 1s ? 0 : step >= 100ms ? 1 : step >= 10ms ? 2 : 3;
  std::snprintf(text, sizeof text, "%.*f s", digits, std::chrono::duration<double>(since).count());
  return text;
}

}  // namespace

TimeAxis::TimeAxis(WallTime from, WallTime to, std::chrono::seconds zone, bool from_zero)
    : from_(from), to_(to > from ? to : from + 1s), zone_(zone), from_zero_(from_zero) {}

double TimeAxis::place(WallTime at) const {
  const auto part = static_cast<double>((at - from_).count()) / static_cast<double>((to_ - from_).count());
  return std::clamp(part, 0.0, 1.0);
}

std::vector<TimeAxis::Tick> TimeAxis::ticks(double most) const {
  const auto whole = static_cast<double>((to_ - from_).count());
  const auto least = static_cast<std::int64_t>(whole / std::max(most, 1.0));
  const microseconds step = round_step(microseconds(std::max<std::int64_t>(least, 1)));
  const microseconds origin = from_zero_ ? from_.time_since_epoch() : microseconds(-zone_);
  const microseconds ahead = from_.time_since_epoch() - origin;
  const microseconds first = origin + (ahead + step - 1us) / step * step;
  std::vector<Tick> ticks;
  for (WallTime at(first); at <= to_; at += step) ticks.push_back({at, label(at, step)});
  return ticks;
}

std::string TimeAxis::label(WallTime at, microseconds step) const {
  if (from_zero_) return counted(at - from_, step);
  const std::string text = rfc3339(at + zone_);  // 2026-02-03T04:05:06.789Z
  if (step >= kDay) return text.substr(0, 10);
  if (step >= 1min) return text.substr(11, 5);
  return text.substr(11, step >= 1s ? 8 : 12);
}

}  // namespace dlock
