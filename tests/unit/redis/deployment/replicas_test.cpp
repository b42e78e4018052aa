// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/replicas.h"

#include <doctest/doctest.h>

namespace dlock::redis::replicas_test {
namespace {

using namespace std::chrono_literals;
using Confirmation = ReplicaCheck::Confirmation;

Reply number(std::int64_t n) { return {Reply::Kind::kInteger, "", n, {}}; }
Reply list(std::vector<Reply> elements) { return {Reply::Kind::kArray, "", 0, std::move(elements)}; }
/// What a master with so many replicas answers to ROLE.
Reply role(std::size_t replicas) {
  return list({{Reply::Kind::kString, "master", 0, {}}, number(7), list(std::vector<Reply>(replicas))});
}

}  // namespace

TEST_CASE("without wait_replicas nothing is asked behind a grant") {
  CHECK(!ReplicaCheck({}).any());
  CHECK(ReplicaCheck({}).commands(1s).empty());
}

TEST_CASE("wait_replicas=2 is met by two confirmations and by more, not by one") {
  ReplicaCheck check({2, false});
  CHECK(check.commands(500ms) == std::vector<Command>{{"WAIT", "2", "500"}});
  CHECK(check.judge({number(3)}) == Confirmation::kMet);
  CHECK(check.judge({number(2)}) == Confirmation::kMet);
  CHECK(check.judge({number(1)}) == Confirmation::kUnmet);
  CHECK(check.text() == "1 of 2 replicas");
}

TEST_CASE("a WAIT always has an end of its own: 0 would mean for ever") {
  CHECK(ReplicaCheck({1, false}).commands(0s) == std::vector<Command>{{"WAIT", "1", "1"}});
  CHECK(ReplicaCheck({1, false}).commands(-1s) == std::vector<Command>{{"WAIT", "1", "1"}});
}

TEST_CASE("wait_replicas=all with one replica costs one write") {
  ReplicaCheck check({0, true});
  CHECK(check.commands(1s) == std::vector<Command>{{"ROLE"}, {"WAIT", "1", "1000"}});
  CHECK(check.judge({role(1), number(1)}) == Confirmation::kMet);
}

TEST_CASE("wait_replicas=all with three replicas asks again for three, and takes nothing less") {
  ReplicaCheck check({0, true});
  CHECK(check.judge({role(3), number(1)}) == Confirmation::kAgain);
  CHECK(check.commands(1s).back() == Command{"WAIT", "3", "1000"});
  SUBCASE("all three") { CHECK(check.judge({role(3), number(3)}) == Confirmation::kMet); }
  SUBCASE("one is stuck") { CHECK(check.judge({role(3), number(2)}) == Confirmation::kUnmet); }
  SUBCASE("one has gone meanwhile") { CHECK(check.judge({role(2), number(2)}) == Confirmation::kMet); }
  SUBCASE("one has come meanwhile") { CHECK(check.judge({role(4), number(3)}) == Confirmation::kAgain); }
}

TEST_CASE("wait_replicas=all does not shrink when a replica leaves to be promoted") {
  ReplicaCheck check({0, true}, 2);
  CHECK(check.commands(1s).back() == Command{"WAIT", "2", "1000"});
  CHECK(check.judge({role(1), number(1)}) == Confirmation::kUnmet);
  CHECK(check.text() == "1 of 2 replicas");
  CHECK(check.judge({role(0), number(0)}) == Confirmation::kUnmet);
  CHECK(check.judge({role(2), number(2)}) == Confirmation::kMet);
}

TEST_CASE("wait_replicas=all of a primary that was met only by the call itself") {
  ReplicaCheck check({0, true});
  check.know(2);
  CHECK(check.judge({role(1), number(1)}) == Confirmation::kAgain);
  CHECK(check.commands(1s).back() == Command{"WAIT", "2", "1000"});
  CHECK(check.judge({role(1), number(1)}) == Confirmation::kUnmet);
}

TEST_CASE("wait_replicas=all that nobody confirms is not asked twice, and without any replica is not met") {
  ReplicaCheck stuck({0, true});
  CHECK(stuck.judge({role(2), number(0)}) == Confirmation::kUnmet);
  CHECK(stuck.text() == "0 of 2 replicas");
  ReplicaCheck alone({0, true});
  CHECK(alone.judge({role(0), number(0)}) == Confirmation::kUnmet);
  CHECK(alone.text() == "0 of 1 replica");
}

}  // namespace dlock::redis::replicas_test
