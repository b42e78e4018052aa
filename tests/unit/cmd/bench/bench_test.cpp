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

TEST_CASE_FIXTURE(CommandWorld, "a bench counts rounds of one process and of several, and prints both") {
  SystemClock real;
  const BenchPlan plan{.key = lock_name("dlock.bench"), .time = 10s, .rounds = 50, .processes = 2};
  const auto alone = bench_alone(take_session(sessions), {real, runtime.log}, plan);
  REQUIRE(alone);
  CHECK(alone->round.count() == 50);
  const auto contended = bench_contended(take_session(sessions), runtime.log, plan);
  REQUIRE(contended);
  CHECK(contended->rounds == 100);
  CHECK(contended->fewest == 50);
  const auto json = nlohmann::json::parse(bench_json("local:", plan, *alone, *contended));
  CHECK(json["alone"]["lock_unlock"]["count"] == 50);
  CHECK(json["contended"]["processes"] == 2);
  CHECK(bench_text("local:", plan, *alone, *contended, {}).find("each process got it 50 to 50 times") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(CommandWorld, "a bench whose key is held by somebody else is 75") {
  backend.grants_fail = Error{ErrorCode::kBusy, "dlock.bench is held"};
  CHECK(bench_command(options, {"local:", take_session(sessions)}, runtime, output) == 75);
  CHECK(said() == "dlock: dlock.bench is held\n");
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
