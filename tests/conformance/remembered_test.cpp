// SPDX-License-Identifier: Apache-2.0
// What a store remembers of a key beside its lock: the slots of --once. (Of a fence: lease_test.cpp; who freed a lock
// by force: operator_test.cpp.)
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/conformance/fixture.h"
#include "tests/support/acquisition.h"

namespace dlock::testing::remembered_test {
namespace {

using namespace std::chrono_literals;

LockName slot_of(const World& w, std::string_view slot) { return *LockName::of_slot(name(w.key), slot); }

/// As OnceSession takes it.
LockSpec slot_spec(const LockName& slot, Duration remember) {
  LockSpec spec = once(exclusive("k"));
  spec.name = slot;
  spec.ttl = spec.at_least = remember;
  spec.reason = "the reason";
  return spec;
}

void run_once(Client& client, const LockName& slot, Duration remember) {
  const LockSpec spec = slot_spec(slot, remember);
  Acquisition run(client, spec);
  REQUIRE(run.wait_for<Granted>());
  run.session().command_ended(0);
  REQUIRE(run.session().detach({remember, std::nullopt}));
}

/// Who has run it, as a later run hears it.
std::optional<Participant> who_ran(Client& client, const LockName& slot) {
  LockSpec spec = slot_spec(slot, 1h);
  spec.take = false;
  Acquisition look(client, spec);
  const auto event = look.next();
  REQUIRE(event);
  if (std::holds_alternative<Granted>(*event)) return std::nullopt;
  const auto* refused = std::get_if<Refused>(&*event);
  REQUIRE(refused);
  CHECK(refused->error.code == ErrorCode::kBusy);
  REQUIRE(refused->state);
  REQUIRE(refused->state->holders.size() == 1);
  return refused->state->holders.front();
}

std::vector<std::string> slots_seen(Client& client, const World& w) {
  const auto all = client.remembered(name(w.key));
  REQUIRE(all);
  std::vector<std::string> slots;
  for (const Participant& one : *all) slots.push_back(one.slot);
  return slots;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a slot that has run is remembered for all, shown with who, when and how, and is no lock") {
  on_every_backend("once", [](World& w) {
    const LockName slot = slot_of(w, "2026-11-26/a b");
    CHECK_FALSE(who_ran(w.b, slot));
    run_once(w.a, slot, 1h);
    const auto who = who_ran(w.b, slot);
    REQUIRE(who);
    CHECK(who->ran == "status 0");
    CHECK_FALSE(who->host.empty());
    CHECK(who->reason == "the reason");
    CHECK_FALSE(who_ran(w.b, slot_of(w, "2026-11-26")));
    CHECK_FALSE(who_ran(w.b, slot_of(w, "2026-11-26/a")));
    CHECK(slots_seen(w.b, w) == Names{"2026-11-26/a b"});
    const auto live = w.b.inspect_all();
    REQUIRE(live);
    CHECK(std::none_of(live->locks.begin(), live->locks.end(),
                       [&](const LockState& one) { return one.name.text().starts_with(w.key); }));
    Acquisition lock(w.b, once(exclusive(w.key)));
    lock.held();
    lock.release();
    REQUIRE(w.b.forget(slot));
  });
}

TEST_CASE("a slot is forgotten by who asks for it, once, and may run again") {
  on_every_backend("once-forgotten", [](World& w) {
    for (const char* one : {"a", "b"}) run_once(w.a, slot_of(w, one), 1h);
    CHECK(slots_seen(w.a, w) == Names{"a", "b"});
    const auto forgotten = w.b.forget(slot_of(w, "a"));
    REQUIRE(forgotten);
    CHECK_FALSE(forgotten->owner.empty());
    CHECK(w.b.forget(slot_of(w, "a")).error().code == ErrorCode::kLost);
    CHECK(slots_seen(w.a, w) == Names{"b"});
    CHECK_FALSE(who_ran(w.a, slot_of(w, "a")));
    run_once(w.b, slot_of(w, "a"), 1h);
    CHECK(who_ran(w.a, slot_of(w, "a")));
    for (const char* one : {"a", "b"}) REQUIRE(w.b.forget(slot_of(w, one)));
  });
}

TEST_CASE("a slot is over after its time, runs again, and gc leaves what is remembered") {
  on_every_backend("once-over", [](World& w) {
    SystemClock clock;
    const TimePoint begun = clock.now();
    run_once(w.a, slot_of(w, "short"), 1s);
    const auto ran = who_ran(w.b, slot_of(w, "short"));
    CHECK((ran || clock.now() - begun >= 1s));
    run_once(w.a, slot_of(w, "long"), 1h);
    CHECK(eventually([&] { return !who_ran(w.b, slot_of(w, "short")); }));
    CHECK(slots_seen(w.b, w) == Names{"long"});
    REQUIRE(w.b.collect_garbage(true));
    REQUIRE(w.b.collect_garbage(false));
    const auto left = w.b.collect_garbage(true);
    REQUIRE(left);
    CHECK(std::none_of(left->begin(), left->end(), [&](const Swept& one) { return one.name.key() == w.key; }));
    CHECK(slots_seen(w.b, w) == Names{"long"});
    run_once(w.b, slot_of(w, "short"), 1h);
    CHECK(slots_seen(w.a, w) == Names{"long", "short"});
    for (const char* one : {"short", "long"}) REQUIRE(w.b.forget(slot_of(w, one)));
  });
}

}  // namespace dlock::testing::remembered_test
