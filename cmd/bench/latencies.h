// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/json_writer.h"
#include "lib/base/time.h"

namespace dlock {

/// How long something took, many times.
class Latencies {
 public:
  Latencies() = default;
  explicit Latencies(std::vector<Duration> samples);
  std::size_t count() const { return samples_.size(); }
  /// The smallest sample that `percent` percent of all do not exceed (nearest rank); 0 without samples.
  Duration percentile(int percent) const;
  Duration longest() const { return percentile(100); }
  const std::vector<Duration>& samples() const { return samples_; }

 private:
  std::vector<Duration> samples_;  ///< ascending
};

/// "p50 4.8 µs  p90 5.1 µs  p99 12 µs  longest 1.2 ms".
std::string percentile_text(const Latencies& latencies);

/// "850 ns", "4.8 µs", "12 ms", "1.3 s": two significant digits at least.
std::string fine_duration(Duration length);

/// How many there were in each second of `took`.
std::int64_t per_second(std::size_t count, Duration took);

/// {"count":..,"p50_ms":..,"p90_ms":..,"p99_ms":..,"longest_ms":..}
void put_latencies(JsonWriter& json, const Latencies& latencies);

}  // namespace dlock
