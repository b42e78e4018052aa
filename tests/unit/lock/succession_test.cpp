// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/succession.h"

#include <doctest/doctest.h>

#include <vector>

#include "lib/lock/who_text.h"

namespace dlock::testing::succession_test {

using namespace std::chrono_literals;

Participant someone(const char* owner, Supersedes supersedes = Supersedes::kNothing) {
  Participant participant;
  participant.owner = owner;
  participant.supersedes = supersedes;
  return participant;
}

struct World {
  explicit World(Supersedes supersedes)
      : spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "push 2", .ancestor = {}},
        succession(spec, [this](const LockState& shown, const std::string& by) {
          for (const Participant& holder : shown.holders) asked.push_back(holder.owner + " " + by);
          return answer;
        }) {
    spec.supersedes = supersedes;
  }
  LockState state(std::vector<Participant> waiters) const {
    LockState state{spec.name, "redis://r", Mode::kExclusive, 0, {someone("holder")}, std::move(waiters)};
    state.holders.front().token = FencingToken(7);
    return state;
  }
  Participant self() const { return someone(spec.owner.text().c_str(), spec.supersedes); }

  LockSpec spec;
  Result<void> answer;
  std::vector<std::string> asked;
  Succession succession;
};

TEST_CASE("a waiter that replaces asks each holder once, and looks again after a second") {
  World world(Supersedes::kReplace);
  CHECK(world.succession.look_at() == TimePoint());
  CHECK_FALSE(world.succession.judge(world.state({}), TimePoint(5s)));
  CHECK_FALSE(world.succession.judge(world.state({world.self()}), TimePoint(6s)));
  REQUIRE(world.asked.size() == 1);
  CHECK(world.asked.front() == "holder " + who_replaces("push 2"));
  CHECK(world.succession.look_at() == TimePoint(7s));
  LockState next = world.state({world.self()});
  next.holders.front().token = FencingToken(8);  // another hold
  CHECK_FALSE(world.succession.judge(next, TimePoint(7s)));
  CHECK(world.asked.size() == 2);
}

TEST_CASE("what the store refuses ends the wait: for good at once, for now after a connect-timeout of it") {
  World world(Supersedes::kReplace);
  const auto look = [&](Duration at) { return world.succession.judge(world.state({world.self()}), TimePoint(at)); };
  SUBCASE("no right to") {
    world.answer = Error{ErrorCode::kDenied, "NOPERM"};
    const auto refused = look(5s);
    REQUIRE(refused);
    CHECK(refused->error.message == "NOPERM");
    CHECK(world.succession.unasked(world.state({}))->message == "NOPERM");
  }
  SUBCASE("too few replicas") {
    world.answer = Error{ErrorCode::kUnavailable, "NOREPLICAS"};
    CHECK_FALSE(look(10s));
    CHECK_FALSE(look(14s));
    CHECK(world.succession.unasked(world.state({}))->message == "NOREPLICAS");
    SUBCASE("for long") { REQUIRE(look(15s)); }
    SUBCASE("and it cannot be looked at in between") {
      world.succession.missed(TimePoint(15s));
      CHECK_FALSE(world.succession.unasked(world.state({})));
      CHECK_FALSE(look(16s));
    }
    SUBCASE("and it does it then") {
      world.answer = {};
      CHECK_FALSE(look(15s));
      CHECK_FALSE(world.succession.unasked(world.state({})));
      CHECK_FALSE(look(30s));
    }
    SUBCASE("and somebody else has it at the end") {
      LockState next = world.state({});
      next.holders.front().owner = "next";
      CHECK_FALSE(world.succession.unasked(next));
    }
  }
  SUBCASE("nobody to ask any more") {
    world.answer = Error{ErrorCode::kConflict, "other holders"};
    CHECK_FALSE(look(5s));
    CHECK_FALSE(look(60s));
    CHECK_FALSE(world.succession.unasked(world.state({})));
  }
}

TEST_CASE("a word that did not come through is said again, and a holder that cannot be asked ends the wait") {
  World world(Supersedes::kReplace);
  world.answer = Error{ErrorCode::kUnavailable, "no answer"};
  CHECK_FALSE(world.succession.judge(world.state({world.self()}), TimePoint(5s)));
  world.answer = Error{ErrorCode::kUnsupported, "cannot be asked"};
  // One that has just got it, and has not written down yet who it is, is no stranger at the next look.
  LockState unnamed = world.state({world.self()});
  unnamed.holders.front().owner = "connection 5";
  CHECK_FALSE(world.succession.judge(unnamed, TimePoint(6s)));
  CHECK_FALSE(world.succession.judge(world.state({world.self()}), TimePoint(7s)));
  const auto refused = world.succession.judge(world.state({world.self()}), TimePoint(8s));
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kUnsupported);
  CHECK(world.asked.size() == 4);
}

TEST_CASE("a waiter gives way to the last one of its kind that came after it, and to no other") {
  for (const Supersedes kind : {Supersedes::kReplace, Supersedes::kNewest}) {
    const Supersedes other = kind == Supersedes::kReplace ? Supersedes::kNewest : Supersedes::kReplace;
    World world(kind);
    const auto before = world.state({someone("before", kind), world.self(), someone("x", other), someone("y")});
    CHECK_FALSE(world.succession.judge(before, TimePoint(5s)));
    // Its own place is not known before it has one.
    CHECK_FALSE(world.succession.judge(world.state({someone("before", kind)}), TimePoint(5s)));
    CHECK_FALSE(world.succession.judge_grant(world.state({someone("before", kind)})));
    Participant last = someone("last", kind);
    last.user = "deploy", last.host = "ci-5", last.reason = "push 4";
    const auto refused =
        world.succession.judge(world.state({world.self(), someone("later", kind), last}), TimePoint(6s));
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    REQUIRE(refused->state);
    CHECK(refused->state->superseded_by == "deploy@ci-5: push 4");
    CHECK(world.succession.judge_grant(world.state({someone("later", kind)})));
    CHECK_FALSE(world.succession.judge_grant(world.state({someone("x", other)})));
    CHECK(world.asked.size() == (kind == Supersedes::kReplace ? 1 : 0));
  }
}

TEST_CASE("behind nobody means that one who waits already is not waited for; without a queue there is no latest") {
  World world(Supersedes::kReplace);
  world.spec.behind_nobody = true;
  CHECK_FALSE(world.succession.judge(world.state({world.self(), someone("y")}), TimePoint(5s)));
  const auto busy = world.succession.judge(world.state({someone("y"), world.self()}), TimePoint(6s));
  REQUIRE(busy);
  CHECK(busy->error.code == ErrorCode::kBusy);
  CHECK(busy->error.message == "others already wait for k");
  LockState unknown = world.state({});
  unknown.waiters_known = false;
  const auto refused = world.succession.judge_grant(unknown);
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kUnsupported);
}

TEST_CASE("the record of a holder keeps who asked it first, behind its slot") {
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "why", .ancestor = {}};
  spec.supersedes = Supersedes::kReplace;
  for (const char* slot : {"", "red"}) {
    const std::string who = with_revocation(with_slot(who_text(spec), slot), "deploy@ci-4: release 2.5");
    Participant holder;
    add_who(holder, who, true);
    CHECK(holder.reason == "why");
    CHECK(holder.slot == slot);
    CHECK(holder.revoked == "deploy@ci-4: release 2.5");
    CHECK(holder.at_least == Duration(0));
    CHECK_FALSE(holder.lease);
    CHECK(revocation_of("17 0 0 entry " + who) == "deploy@ci-4: release 2.5");
    CHECK(revocation_of(with_slot(who_text(spec), slot)).empty());
  }
  Participant waiter;
  add_who(waiter, who_text(spec), false);
  CHECK(waiter.supersedes == Supersedes::kReplace);
}

}  // namespace dlock::testing::succession_test
