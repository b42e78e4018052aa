// SPDX-License-Identifier: Apache-2.0
#include "cmd/bench/bench.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_world.h"

namespace bench_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("percentiles are nearest ranks") {
  std::vector<Duration> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(Duration(i));
  const Latencies latencies(std::move(samples));
  CHECK(latencies.percentile(50) == Duration(50));
  CHECK(latencies.percentile(99) == Duration(99));
  CHECK(latencies.longest() == Duration(100));
  CHECK(Latencies(std::vector<Duration>{7ns}).percentile(50) == 7ns);
  CHECK(Latencies().percentile(50) == Duration::zero());
}

TEST_CASE("fine durations keep two digits") {
  CHECK(fine_duration(850ns) == "850 ns");
  CHECK(fine_duration(4810ns) == "4.8 µs");
  CHECK(fine_duration(12ms) == "12 ms");
  CHECK(fine_duration(1300ms) == "1.3 s");
}

TEST_CASE_FIXTURE(CommandWorld, "what a contending process could not do is told by its parent") {
  backend.grants_fail = Error{ErrorCode::kUnavailable, "gone"};
  const auto contended = bench_contended(take_session(sessions), runtime.log,
                                         {.key = lock_name("k"), .time = 10s, .rounds = 5, .processes = 2});
  REQUIRE_FALSE(contended);
  CHECK(contended.error().code == ErrorCode::kUnavailable);
  CHECK(contended.error().message == "gone");
}

}  // namespace bench_test
