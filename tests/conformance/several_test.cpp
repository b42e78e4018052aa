// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "lib/lock/multi_lock.h"
#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"

namespace dlock::testing::several_test {
namespace {

using namespace std::chrono_literals;

/// Two keys taken as one, of which one will be lost.
struct Both {
  Both(World& w, const LockSpec& like, int victim, const std::string& suffix) {
    std::vector<std::unique_ptr<LockSession>> sessions;
    for (const char* key : {"/1", "/2"}) {
      LockSpec spec = like;
      spec.name = name(w.key + suffix + key);
      spec.owner = Owner::random();
      spec.ttl = 20s;
      spec.renew_interval = scaled(1s);
      if (w.fixture.lock_delay && like.mode == Mode::kExclusive) spec.lock_delay = 20s;
      specs.push_back(spec);
      auto session = w.a.open(spec);
      REQUIRE(session);
      sessions.push_back(std::move(*session));
    }
    lost = specs[static_cast<std::size_t>(victim)].name;
    other = specs[static_cast<std::size_t>(1 - victim)];
    taken = std::make_unique<Acquisition>(std::make_unique<MultiLock>(std::move(sessions)));
  }

  void lose(LockAdmin& from) const {
    const auto shown = from.inspect(*lost);
    REQUIRE(shown);
    const auto freed = from.force_release(*lost, *shown, "");
    INFO((freed ? std::string() : freed.error().message));
    REQUIRE(freed);
    CHECK(freed->freed.size() == 1);
  }

  /// The other part was given back, not left behind: no lock-delay keeps it.
  void check_other_is_free(Client& store) const {
    LockSpec next = exclusive(other->name.text());
    next.wait.once = true;
    Acquisition again(store, next);
    again.held();
    again.release();
  }

  std::vector<LockSpec> specs;
  std::optional<LockName> lost;
  std::optional<LockSpec> other;
  std::unique_ptr<Acquisition> taken;
};

/// Each part once, in every mode that the store has.
std::vector<Both> in_every_mode(World& w) {
  std::vector<Both> all;
  for (const LockSpec& like : {exclusive(w.key), shared(w.key), permits(w.key, 2)}) {
    if (like.mode == Mode::kShared && skips(w, !w.fixture.shared, "no readers")) continue;
    if (like.mode == Mode::kPermits && skips(w, !w.fixture.permits, "no permits")) continue;
    for (const int victim : {0, 1}) {
      all.emplace_back(w, like, victim, "/" + std::string(mode_name(like.mode)) + std::to_string(victim));
    }
  }
  for (const Both& both : all) {
    const auto granted = both.taken->wait_for<Granted>();
    REQUIRE(granted);
    CHECK(granted->locks.size() == 2);
  }
  return all;
}

}  // namespace

TEST_CASE("the loss of one of several locks is told, and the others are held until they are given back") {
  on_every_backend("several-told", [](World& w) {
    std::vector<Both> all = in_every_mode(w);
    for (const Both& both : all) both.lose(w.b);
    for (const Both& both : all) {
      INFO("lost: ", both.lost->text());
      const auto lost = both.taken->wait_for<Lost>();
      REQUIRE(lost);
      CHECK_FALSE(lost->final);
      CHECK_FALSE(lost->why.empty());
      const auto held = w.b.inspect(both.other->name);
      REQUIRE(held);
      CHECK(held->holders.size() == 1);
      both.taken->release();
      both.check_other_is_free(w.b);
    }
  });
}

TEST_CASE("the loss of one of several locks that only the release finds out is a loss, and the others are given back") {
  on_every_backend("several-release", [](World& w) {
    std::vector<Both> all = in_every_mode(w);
    for (const Both& both : all) {
      INFO("lost: ", both.lost->text());
      both.lose(w.b);
      both.taken->session().release(SystemClock().now() + kPatience);
      const auto lost = both.taken->wait_for<Lost>();
      INFO("said: ", both.taken->last());
      REQUIRE(lost);
      CHECK(lost->final);
      both.check_other_is_free(w.b);
    }
  });
}

TEST_CASE("the loss of one lock while the next one is waited for refuses the whole, and nothing of it is left") {
  on_every_backend("several-waiting", [](World& w) {
    Acquisition holder(w.b, exclusive(w.key + "/2"));
    holder.held();
    Both both(w, exclusive(w.key), 0, "");
    // What others see may be a grant that is not finished: the first part is ours when the second one waits.
    REQUIRE(eventually([&] {
      both.taken->session().ask_who();
      const auto waiting = both.taken->wait_for<Waiting>(50ms);
      return waiting && waiting->state.name == both.other->name;
    }));
    both.lose(w.b);
    const auto refused = both.taken->wait_for<Refused>();
    INFO("said: ", both.taken->last());
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kLost);
    holder.release();
    both.check_other_is_free(w.b);
  });
}

}  // namespace dlock::testing::several_test
