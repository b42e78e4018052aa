// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/server_group.h"

#include <doctest/doctest.h>

#include "lib/base/clock.h"

namespace dlock::redis::server_group_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a round that is over before its attempt to connect keeps why the one before has failed") {
  const auto url = BackendUrl::parse("redlock://no..invalid,nor..invalid");  // the resolver asks no DNS for these
  REQUIRE(url);
  auto settings = group_settings(*url);
  REQUIRE(settings);
  SystemClock clock;
  ServerGroup group(std::move(*settings), clock, 30s);
  const std::vector<std::vector<Command>> ping(2, {{"PING"}});
  const auto to_the_end = [](const ServerGroup::Answers&) { return std::nullopt; };
  const auto first = group.ask(ping, clock.now() + 30s, nullptr, to_the_end);
  REQUIRE(first[0].error);
  CHECK(group.reasons(first).find("there is no host with that name") != std::string::npos);
  const auto second = group.ask(ping, clock.now(), nullptr, to_the_end);
  CHECK(group.reasons(second) == group.reasons(first));
}

}  // namespace
}  // namespace dlock::redis::server_group_test
