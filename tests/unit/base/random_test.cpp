// SPDX-License-Identifier: Apache-2.0
#include "lib/base/random.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

namespace random_test {

using namespace dlock;

TEST_CASE("chance stays below its end and reaches all of it") {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_below(8));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});  // 1 in 10^57 runs misses one
  CHECK(random_below(1) == 0);
}

TEST_CASE("what spreads work stays below its end, reaches all of it, and no thread repeats another") {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(spread_below(8));
  CHECK(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(spread_below(1) == 0);
  const auto ten = [] {
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 10; ++i) numbers.push_back(spread_below(1U << 31));
    return numbers;
  };
  std::vector<std::uint64_t> theirs;
  std::thread([&] { theirs = ten(); }).join();
  CHECK(theirs != ten());
}

TEST_CASE("jitter is from 0 to less than the most, and differs") {
  std::set<Duration> seen;
  for (int i = 0; i < 100; ++i) {
    const Duration pause = jitter(std::chrono::milliseconds(40));
    CHECK(pause >= Duration(0));
    CHECK(pause < std::chrono::milliseconds(40));
    seen.insert(pause);
  }
  CHECK(seen.size() > 90);
  CHECK(jitter(Duration(0)) == Duration(0));
  CHECK(jitter(Duration(-5)) == Duration(0));
}

TEST_CASE("random hex has two digits a byte and is never the same") {
  CHECK(random_hex(0).empty());
  CHECK(random_hex(16).size() == 32);
  CHECK(random_hex(16) != random_hex(16));
}

}  // namespace random_test
