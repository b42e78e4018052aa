// SPDX-License-Identifier: Apache-2.0
#include "lib/net/serving_one.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/fake_clock.h"

namespace dlock::testing::serving_one_test {
namespace {

using namespace std::chrono_literals;

struct Line {
  bool usable() const { return living; }
  bool living = true;
  std::size_t server = 0;
};

/// Three servers, each of which answers with its error; nullopt: it serves.
struct World {
  FakeClock clock;
  ServingOne<Line> one{3, clock};
  std::vector<std::optional<Error>> says = std::vector<std::optional<Error>>(3);
  std::vector<std::size_t> tried;
  std::vector<Duration> shares;

  Result<Line*> connect() {
    tried.clear();
    shares.clear();
    return one.connect({clock.now() + 6s}, [this](std::size_t index, const CallLimit& limit) {
      tried.push_back(index);
      shares.push_back(limit.until - clock.now());
      if (says[index]) return Result<std::unique_ptr<Line>>(*says[index]);
      return Result<std::unique_ptr<Line>>(std::make_unique<Line>(Line{true, index}));
    });
  }
};

Error down(const std::string& text) { return {ErrorCode::kUnavailable, text}; }

TEST_CASE("servers are tried one at a time, each with its share of the time, and the one that serves stays the first") {
  World world;
  world.says = {down("a is down"), std::nullopt, std::nullopt};
  auto line = world.connect();
  REQUIRE(line);
  CHECK((*line)->server == 1);
  CHECK(world.one.generation() == 1);
  CHECK(world.tried == std::vector<std::size_t>{0, 1});
  CHECK(world.shares == std::vector<Duration>{2s, 3s});
  CHECK(*world.connect() == *line);  // it is usable
  CHECK(world.tried.empty());

  (*line)->living = false;
  line = world.connect();
  CHECK((*line)->server == 1);
  CHECK(world.one.generation() == 3);
  world.one.pass_over();  // it takes no changes any more
  CHECK(world.one.current() == nullptr);
  CHECK((*world.connect())->server == 2);
}

TEST_CASE("what each server has said is told, and a refusal for good before an outage") {
  World world;
  world.says = {down("a is down"), Error{ErrorCode::kDenied, "b refused", "a password"}, down("c is down")};
  const auto line = world.connect();
  REQUIRE_FALSE(line);
  CHECK(line.error().code == ErrorCode::kDenied);
  CHECK(line.error().message == "a is down; b refused; c is down");
  CHECK_FALSE(line.error().undone);  // one has answered for good
  CHECK(line.error().next == "a password");
  CHECK(world.one.current() == nullptr);
}

TEST_CASE("where none serves, nothing was done, and one that is silent may yet serve") {
  World world;
  Error full = down("is full");
  full.outage = Outage::kRefused;
  const auto all_said = [&] {
    const auto line = world.connect();
    REQUIRE_FALSE(line);
    CHECK(line.error().undone);
    return line.error().outage == Outage::kRefused;
  };
  world.says = {full, full, full};
  CHECK(all_said());
  world.says = {full, down("b is down"), full};
  CHECK_FALSE(all_said());
}

TEST_CASE("a connection that is found broken has a number of its own, also if there is no next one") {
  World world;
  world.says = {std::nullopt, std::nullopt, std::nullopt};
  REQUIRE(world.connect());
  const int generation = world.one.generation();
  (*world.connect())->living = false;
  world.says = {down("a is down"), down("b is down"), down("c is down")};
  CHECK_FALSE(world.connect());
  CHECK(world.one.generation() != generation);
}

TEST_CASE("whoever gives up tries no other server") {
  World world;
  world.says = {Error{ErrorCode::kCancelled, "given up"}, std::nullopt, std::nullopt};
  CHECK(world.connect().error().code == ErrorCode::kCancelled);
  CHECK(world.tried.size() == 1);
}

}  // namespace
}  // namespace dlock::testing::serving_one_test
