// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/latencies.h"

#include <algorithm>
#include <cstdio>

namespace dlock {
namespace {

/// `part` of `whole` as a bar, to an eighth of a column; whatever is not nothing can be seen.
std::string bar(std::size_t part, std::size_t whole, std::size_t columns) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::size_t eighths = whole == 0 ? 0 : part * columns * 8 / whole;
  if (part > 0 && eighths == 0) eighths = 1;
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

}  // namespace

Latencies::Latencies(std::vector<Duration> samples) : samples_(std::move(samples)) {
  std::sort(samples_.begin(), samples_.end());
}

Duration Latencies::percentile(int percent) const {
  if (samples_.empty()) return Duration::zero();
  const std::size_t rank = (samples_.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return samples_[std::max<std::size_t>(rank, 1) - 1];
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

std::string histogram(const Latencies& latencies, std::size_t width) {
  const auto& samples = latencies.samples();
  if (samples.empty()) return {};
  struct Bucket {
    Duration below;
    std::size_t count;
  };
  std::vector<Bucket> buckets;
  Duration below{1000};
  while (below <= samples.front()) below *= 2;
  for (auto at = samples.begin(); at != samples.end(); below *= 2) {
    const auto end = std::lower_bound(at, samples.end(), below);
    buckets.push_back({below, static_cast<std::size_t>(end - at)});
    at = end;
  }
  std::size_t most = 0;
  for (const Bucket& bucket : buckets) most = std::max(most, bucket.count);
  constexpr std::size_t kLabel = 14, kCount = 8;
  const std::size_t columns = std::max<std::size_t>(width == 0 ? 80 : width, kLabel + kCount + 10) - kLabel - kCount;
  std::string text;
  for (const Bucket& bucket : buckets) {
    const std::string label = fine_duration(bucket.below);
    // µ is two bytes and one column.
    const std::size_t label_width = label.size() - (label.find("µ") == std::string::npos ? 0 : 1);
    text += "  < " + std::string(8 - std::min<std::size_t>(label_width, 8), ' ') + label + "  " +
            bar(bucket.count, most, columns) + ' ' + std::to_string(bucket.count) + '\n';
  }
  return text;
}

void put_latencies(JsonWriter& json, const Latencies& latencies) {
  json.begin_object().key("count").number(static_cast<std::int64_t>(latencies.count()));
  json.key("p50_ms").ms(latencies.percentile(50)).key("p90_ms").ms(latencies.percentile(90));
  json.key("p99_ms").ms(latencies.percentile(99)).key("longest_ms").ms(latencies.longest()).end_object();
}

}  // namespace dlock
