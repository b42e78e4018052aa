// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/latencies.h"

#include <algorithm>
#include <cstdio>

#include "lib/history/history.h"

namespace dlock {
Latencies::Latencies(std::vector<Duration> samples) : samples_(std::move(samples)) {
  std::sort(samples_.begin(), samples_.end());
}

Duration Latencies::percentile(int percent) const {
  return dlock::percentile(samples_, percent).value_or(Duration::zero());
}

std::string fine_duration(Duration length) {
  struct Unit {
    double ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
  const auto ns = static_cast<double>(length.count());
  const Unit* unit = std::find_if(std::begin(kUnits), std::end(kUnits) - 1, [&](const Unit& u) { return ns >= u.ns; });
  char text[48];
  std::snprintf(text, sizeof text, ns / unit->ns < 10 && unit->ns > 1 ? "%.1f %s" : "%.0f %s", ns / unit->ns,
                unit->name);
  return text;
}

std::string percentile_text(const Latencies& latencies) {
  return "p50 " + fine_duration(latencies.percentile(50)) + "  p90 " + fine_duration(latencies.percentile(90)) +
         "  p99 " + fine_duration(latencies.percentile(99)) + "  longest " + fine_duration(latencies.longest());
}

std::int64_t per_second(std::size_t count, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  return seconds > 0 ? static_cast<std::int64_t>(static_cast<double>(count) / seconds) : 0;
}

void put_latencies(JsonWriter& json, const Latencies& latencies) {
  json.begin_object().field("count", latencies.count());
  json.key("p50_ms").ms(latencies.percentile(50)).key("p90_ms").ms(latencies.percentile(90));
  json.key("p99_ms").ms(latencies.percentile(99)).key("longest_ms").ms(latencies.longest()).end_object();
}

}  // namespace dlock
