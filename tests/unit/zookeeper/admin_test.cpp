// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/admin.h"

#include <doctest/doctest.h>

#include "backends/zookeeper/lock/store.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/zookeeper/fake_ensemble.h"

namespace dlock::zookeeper::admin_test {
namespace {

using namespace std::chrono_literals;
using dlock::testing::FakeClock;
using testing::FakeEnsemble;

class World {
 public:
  std::unique_ptr<ZookeeperAdmin> commands(const std::string& recipe = "curator") {
    const auto url = BackendUrl::parse("zk://127.0.0.1?recipe=" + recipe);
    auto found = Ensemble::of(*url, clock, [this](const SessionSettings& s) { return ensemble.open(s); });
    return std::make_unique<ZookeeperAdmin>(std::move(*found), Runtime{clock, log});
  }

  /// Somebody's place in the queue of "k".
  struct QueueEntry {
    std::unique_ptr<Calls> calls;
    std::unique_ptr<ContenderStore> contender;
  };
  QueueEntry enter(Mode mode = Mode::kExclusive, Duration lock_delay = {}) {
    const auto url = BackendUrl::parse("zk://127.0.0.1");
    auto found = Ensemble::of(*url, clock, [this](const SessionSettings& s) { return ensemble.open(s); });
    QueueEntry place;
    place.calls = std::move(*found->connect(30s, clock.now() + 1s, nullptr));
    HolderRecord data;
    data.owner = Owner::random().text();
    data.mode = mode;
    data.lock_delay = lock_delay;
    place.contender = std::make_unique<ContenderStore>(
        *place.calls, queues_of(Recipe::kCurator, "/k", mode, 0)->front(), encode(data));
    REQUIRE(place.contender->enter(clock.now() + 1s, nullptr));
    return place;
  }

  FakeClock clock;
  FakeEnsemble ensemble;
  const Log log{Log::Style{.quiet = true}};
};

const LockName kName = *LockName::parse("k");

}  // namespace

TEST_CASE("Garbage is what dlock made and nobody is in, from the deepest up; what others made stays") {
  World world;
  const auto holder = world.enter();
  const auto make = [&](const std::string& path, const char* data) { world.ensemble.nodes[path].data = data; };
  make("/old", kDirectoryData);
  make("/old/deep", kDirectoryData);
  make("/theirs", "");
  make("/theirs/empty", kDirectoryData);
  const auto commands = world.commands();
  const auto would = commands->collect_garbage(true);
  REQUIRE(would);
  CHECK(world.ensemble.nodes.contains("/old/deep"));
  const auto swept = commands->collect_garbage(false);
  REQUIRE(swept);
  CHECK(swept->size() == would->size());
  CHECK_FALSE(world.ensemble.nodes.contains("/old"));
  CHECK_FALSE(world.ensemble.nodes.contains("/theirs/empty"));
  CHECK(world.ensemble.nodes.contains("/theirs"));
  CHECK(world.ensemble.nodes.contains("/k"));
}

TEST_CASE("Who looks again and again sees servers that have lost their data, once the session would have ended") {
  World world;
  const auto holder = world.enter();
  const auto commands = world.commands();
  REQUIRE(commands->inspect(kName)->holders.size() == 1);
  world.ensemble.empty();
  REQUIRE_FALSE(commands->inspect(kName));
  world.clock.advance(10s);
  const auto seen = commands->inspect(kName);
  REQUIRE(seen);
  CHECK(seen->holders.empty());
}

TEST_CASE("Who only looks goes on in another session when its own has ended, and says so if all of them end") {
  World world;
  const auto holder = world.enter();
  const auto commands = world.commands();
  REQUIRE(commands->inspect(kName)->holders.size() == 1);
  for (const bool always : {false, true}) {
    CAPTURE(always);
    bool ended = false;
    world.ensemble.before_each = [&](FakeEnsemble::FakeSession& session, const Request&) {
      if (!std::exchange(ended, true) || always) world.ensemble.expire(session);
    };
    const auto one = commands->inspect(kName);
    ended = false;
    const auto all = commands->inspect_all();
    CHECK(static_cast<bool>(one) == !always);
    CHECK(static_cast<bool>(all) == !always);
    if (always) CHECK(one.error().code == ErrorCode::kUnavailable);
    if (always) CHECK(all.error().code == ErrorCode::kUnavailable);
  }
}

TEST_CASE("A Curator holder that was asked to release is shown as that, whatever stands in its node by now") {
  World w;
  w.ensemble.create("/k", "", 0, false);
  w.ensemble.write(w.ensemble.foreign("/k/_c_3f2504e0-4f89-41d3-9a0c-0305e82c3301-lock-"), "__REVOKE__");
  const auto shown = w.commands()->inspect(kName);
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  CHECK(shown->holders.front().host.empty());
  CHECK(shown->holders.front().note == "Curator mutex, session 0xffffffffffffffff, asked to release");
}

TEST_CASE("Whatever lies among the leases of Curator's semaphore has one, and is shown as what keeps others out") {
  World w;
  for (const char* path : {"/k", "/k/locks", "/k/leases", "/k/leases/foo"}) w.ensemble.create(path, "", 0, false);
  const auto commands = w.commands();
  const auto shown = commands->inspect(kName);
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  CHECK(shown->holders.front().note == "the node foo, which is not a lease");
  REQUIRE(commands->force_release(kName, *shown, "me"));
  CHECK_FALSE(w.ensemble.nodes.contains("/k/leases/foo"));
}

TEST_CASE("Ages are by the store's clock, whatever ours shows, and it is asked once a minute") {
  for (const auto ahead : {0h, -5h, 5h}) {
    CAPTURE(ahead.count());
    World world;
    world.ensemble.time_ms = [&] {
      return std::chrono::duration_cast<std::chrono::milliseconds>((world.clock.wall() + ahead).time_since_epoch())
          .count();
    };
    const WallTime taken = world.clock.wall();
    const auto holder = world.enter();
    world.clock.advance(7s);
    const auto commands = world.commands();
    const auto state = commands->inspect(kName);
    REQUIRE(state);
    REQUIRE(state->holders.size() == 1);
    CHECK(*state->holders.front().since > taken - 1s);
    CHECK(*state->holders.front().since < taken + 1s);
    CHECK(world.ensemble.children("/") == std::vector<std::string>{"k"});  // nothing is left
    world.ensemble.requests = 0;
    const auto again = commands->inspect(kName);
    REQUIRE(again);
    CHECK(again->holders.front().since == state->holders.front().since);
    CHECK(world.ensemble.requests == 3);  // a sync, the list, and the holder
  }
}

}  // namespace dlock::zookeeper::admin_test
