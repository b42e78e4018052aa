// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/view.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::lock_test {
namespace {

Node node(const std::string& name, std::int64_t czxid, std::int64_t session, const std::string& data) {
  return {"/k/" + name, {.czxid = czxid, .ctime = 5000, .ephemeral_owner = session}, data};
}

/// The nodes of `count` others who wait in `directory`, or hold.
void crowd(FakeEnsemble& ensemble, const QueueDirectory& queue, int count) {
  for (std::size_t end = queue.directory.find('/', 1);; end = queue.directory.find('/', end + 1)) {
    ensemble.nodes[queue.directory.substr(0, end)];
    if (end == std::string::npos) break;
  }
  for (int i = 0; i < count; ++i) {
    ensemble.foreign(queue.directory + "/" + Guid::random().node(queue.family));
  }
}

struct Kind {
  const char* recipe;
  Mode before;  ///< of those in front of us
  Mode ours;
};

constexpr Kind kKinds[] = {
    {"curator", Mode::kExclusive, Mode::kExclusive}, {"curator", Mode::kShared, Mode::kExclusive},
    {"curator", Mode::kExclusive, Mode::kShared},    {"curator", Mode::kPermits, Mode::kPermits},
    {"rw", Mode::kShared, Mode::kExclusive},         {"rw", Mode::kExclusive, Mode::kShared},
    {"kazoo", Mode::kExclusive, Mode::kExclusive},   {"kazoo", Mode::kExclusive, Mode::kShared},
};

/// How many requests it takes to queue behind `count` others, to say who holds it, and to be woken for nothing.
int requests_behind(const Kind& kind, int count) {
  World world;
  const auto url = BackendUrl::parse("zk://127.0.0.1/app?recipe=" + std::string(kind.recipe));
  const auto queues = *queues_of(recipe_of(*url), "/app/k", kind.before, kind.before == Mode::kPermits ? 2 : 0);
  crowd(world.ensemble, queues.front(), count);
  LockSpec spec = spec_of(kind.ours);
  spec.wait.until = world.clock.now() + 2s;
  const auto lock = world.lock(spec, kind.recipe);
  world.supervisor.asks_who = true;
  world.at(1s, [&] {
    auto names = world.ensemble.children(queues.front().directory);
    std::erase_if(names, [](const std::string& name) { return name.find("-lock-") == name.npos; });
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.substr(47) < b.substr(47); });
    if (names.size() > 2) world.ensemble.remove(queues.front().directory + "/" + names[names.size() - 2]);
  });
  REQUIRE(refused(lock->acquire(world.supervisor)));
  REQUIRE(world.supervisor.told.size() >= 1);
  return world.ensemble.requests;
}

}  // namespace

TEST_CASE("A waiter asks as much behind a thousand others as behind twenty") {
  for (const Kind& kind : kKinds) {
    CAPTURE(kind.recipe);
    CAPTURE(static_cast<int>(kind.before));
    CAPTURE(static_cast<int>(kind.ours));
    const bool all_hold = kind.before == Mode::kShared;  // and holders are read
    if (all_hold) continue;
    CHECK(requests_behind(kind, 1000) == requests_behind(kind, 20));
  }
}

TEST_CASE("A view reads the holders and a thousand waiters, and counts the others") {
  World world;
  const QueueDirectory queue = queues_of(Recipe::kCurator, "/app/k", Mode::kExclusive, 0)->front();
  crowd(world.ensemble, queue, 1500);
  const auto url = BackendUrl::parse("zk://127.0.0.1/app");
  auto ensemble = Ensemble::of(*url, world.clock, [&](const SessionSettings& s) { return world.ensemble.open(s); });
  const auto calls = ensemble->connect(30s, world.clock.now() + 1s, nullptr);
  REQUIRE(calls);
  world.ensemble.requests = 0;
  ServerClock leader("/app");
  const auto present =
      read_present(**calls, Recipe::kCurator, queue.directory, kMostListed, leader, world.clock.now() + 1s, nullptr);
  REQUIRE(present);
  const LockState state = state_of(spec_of().name, "zk://h", *present);
  CHECK(state.holders.size() == 1);
  CHECK(state.waiters.size() == kMostListed);
  CHECK(state.more_waiters == 499);
  CHECK(world.ensemble.requests == 1003);  // a sync, the list, and one node of each
}

TEST_CASE("Who has passed the gate of a semaphore came before those at the gate") {
  World world;
  world.ensemble.time_ms = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(world.clock.since_start()).count();
  };
  const auto holder = world.lock(spec_of(), "semaphore-mutex");
  REQUIRE(granted(holder->acquire(world.supervisor)));
  const std::string gate = "/app/k/locks/" + Guid::random().node(Family::kCuratorMutex);
  const std::string passes = world.ensemble.foreign(gate);
  LockSpec patient = spec_of();
  patient.wait.until = world.clock.now() + 3s;
  world.at(1s, [&] {
    world.ensemble.foreign(gate);
    world.ensemble.remove(passes);
    world.at(2s, [&] { world.supervisor.asks_who = true; });
  });
  const auto lock = world.lock(patient, "semaphore-mutex");
  const auto answer = lock->acquire(world.supervisor);
  REQUIRE(refused(answer));
  REQUIRE(world.ensemble.children("/app/k/leases").size() == 1);
  REQUIRE(world.supervisor.told.size() == 1);
  const LockState& state = std::get<Waiting>(world.supervisor.told.front()).state;
  CHECK(state.place == 1);
  REQUIRE(state.waiters.size() == 2);
  CHECK(state.waiters.front().owner == patient.owner.text());
  CHECK(*state.waiters.front().since < *state.waiters.back().since);
}

TEST_CASE("Each contender holds by its own protocol; dlock sees Curator's readers; foreigners are shown as they are") {
  const std::string a = "_c_3f2504e0-4f89-11d3-9a0c-0305e82c3301";
  const HolderRecord ours =
      *decode_record("dlock owner=0123456789abcdef0123456789abcdef host=h pid=7 user=u reason=why");
  std::map<std::string, Node> nodes;
  std::vector<std::string> children;
  for (const Node& one : {
           node("_c_b0000000-0000-d10c-0000-000000000000-lock-0000000003", 11, 2, encode(ours)),
           node(a + "-lock-0000000001", 10, 0x1a, "10.0.0.9"),
           node("c0000000000000000000000000000000__lock__0000000007", 12, 3, "batch"),
           node(a + "-__READ__0000000000", 9, 4, std::string("\x01\xff")),
       }) {
    nodes[one.path] = one;
    children.push_back(base_of(one.path));
  }
  auto present = present_in("/k", children);
  for (ParticipantNode& one : present) fill(one, nodes.at(one.path));
  REQUIRE(present.size() == 4);
  CHECK(present[0].participant.mode == Mode::kShared);
  CHECK(present[0].holds);
  CHECK(present[0].participant.host.empty());  // what cannot be printed is not shown
  CHECK(present[1].holds);                     // a Curator mutex sees no reader
  CHECK(present[1].participant.host == "10.0.0.9");
  CHECK(present[1].participant.note == "Curator mutex, session 0x1a");
  CHECK_FALSE(present[2].holds);
  CHECK(present[2].name.number == 3);
  CHECK(present[2].participant.owner == ours.owner);
  CHECK(present[2].participant.token == FencingToken(11));
  CHECK(present[2].participant.since == WallTime(5s));
  CHECK(present[3].holds);  // kazoo sees nobody of Curator's kind
  CHECK(present[3].participant.owner == "batch");
}

}  // namespace dlock::zookeeper::lock_test
