// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/skips.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"
#include "tests/support/stores.h"

namespace dlock::testing::lock_delay_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

}  // namespace

TEST_CASE("after an unclean end nobody gets the lock for the lock-delay, and then the next one does") {
  on_every_backend("delay", [](World& w) {
    if (skips(w, !w.fixture.lock_delay, "no lock-delay")) return;
    LockSpec careful = exclusive(w.key);
    careful.lock_delay = scaled(milliseconds(400));
    HelperProcess holder(w.fixture.store, careful);
    holder.granted();
    Acquisition next(w.a, exclusive(w.key));
    CHECK(next.stays_quiet());
    SystemClock clock;
    const TimePoint before = clock.now();
    holder.kill();
    Acquisition impatient(w.b, once(exclusive(w.key)));
    const auto refused = impatient.wait_for<Refused>();
    REQUIRE(refused);
    CHECK(refused->error.code == ErrorCode::kBusy);
    next.held();
    CHECK(clock.now() - before >= careful.lock_delay);
    next.release();
    Acquisition at_once(w.b, once(exclusive(w.key)));
    at_once.held();
    at_once.release();
  });
}

TEST_CASE("after a release in order there is no lock-delay, and after a force-release there is one") {
  on_every_backend("delay-forced", [](World& w) {
    if (skips(w, !w.fixture.lock_delay, "no lock-delay")) return;
    LockSpec careful = exclusive(w.key);
    careful.lock_delay = milliseconds(300);
    Acquisition orderly(w.a, careful);
    orderly.held();
    orderly.release();
    careful.owner = Owner::random();
    Acquisition holder(w.a, once(careful));
    holder.held();
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    SystemClock clock;
    const TimePoint before = clock.now();
    REQUIRE(w.b.force_release(name(w.key), *shown, ""));
    Acquisition next(w.b, exclusive(w.key));
    next.held();
    CHECK(clock.now() - before >= milliseconds(300));
    next.release();
  });
}

TEST_CASE("a lock-delay after a force-release is shown as that, with who waits, and another force-release ends it") {
  on_every_backend("delay-ended", [](World& w) {
    if (skips(w, !w.fixture.lock_delay, "no lock-delay")) return;
    LockSpec careful = once(exclusive(w.key));
    careful.lock_delay = seconds(60);
    Acquisition holder(w.a, careful);
    holder.held();
    const auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(w.b.force_release(name(w.key), *shown, ""));
    Acquisition next(w.b, exclusive(w.key));
    CHECK(next.stays_quiet());
    auto delayed = w.a.inspect(name(w.key));
    const std::size_t waiting = w.fixture.sees_waiters ? 1 : 0;
    REQUIRE(eventually([&] { return (delayed = w.a.inspect(name(w.key))) && delayed->waiters.size() == waiting; }));
    REQUIRE(delayed->holders.size() == 1);
    CHECK(delayed->holders.front().standing == Standing::kDelayAfterForce);
    REQUIRE(w.a.force_release(name(w.key), *delayed, ""));
    next.held();
    next.release();
  });
}

TEST_CASE("a force-release of who was shown as a holder leaves the lock-delay, also if the lease has ended meanwhile") {
  on_every_backend("delay-late", [](World& w) {
    if (skips(w, !w.fixture.lock_delay, "no lock-delay")) return;
    if (skips(w, !w.fixture.detaches, "no lease outlives its process")) return;
    LockSpec careful = exclusive(w.key);
    careful.lock_delay = seconds(60);
    take_lease(w.fixture.store, careful, "detach-ttl 1000");
    auto shown = w.b.inspect(name(w.key));
    REQUIRE(shown);
    REQUIRE(shown->holders.size() == 1);
    if (!is_hold(shown->holders.front().standing)) return;  // a slow machine
    auto late = shown;
    const auto is_delayed = [&] { return late->holders.size() == 1 && is_delay(late->holders.front().standing); };
    REQUIRE(eventually([&] { return (late = w.a.inspect(name(w.key))) && is_delayed(); }));
    if (late->holders.front().until) CHECK(*late->holders.front().until > *shown->holders.front().until);
    const auto freed = w.b.force_release(name(w.key), *shown, "");
    if (!freed) CHECK(freed.error().code == ErrorCode::kConflict);
    late = w.a.inspect(name(w.key));
    REQUIRE(late);
    REQUIRE(is_delayed());
    Acquisition early(w.b, once(exclusive(w.key)));
    CHECK(early.wait_for<Refused>());
    REQUIRE(w.a.force_release(name(w.key), *late, ""));
    Acquisition next(w.b, exclusive(w.key));
    next.held();
    next.release();
  });
}

TEST_CASE("a lock-delay after a force-release keeps each place that was held") {
  on_every_backend("delay-closed", [](World& w) {
    if (skips(w, !w.fixture.lock_delay, "no lock-delay")) return;
    if (skips(w, w.fixture.name == "local", "a lock-delay for exclusive locks alone")) return;
    for (const Mode mode : {Mode::kShared, Mode::kPermits}) {
      CAPTURE(mode_name(mode));
      if (mode == Mode::kShared && skips(w, !w.fixture.shared, "no readers")) continue;
      if (mode == Mode::kPermits && skips(w, !w.fixture.permits, "no permits")) continue;
      const std::string key = w.key + "/" + mode_name(mode);
      const auto careful = [&] {
        LockSpec spec = mode == Mode::kShared ? shared(key) : permits(key, 2);
        spec.lock_delay = scaled(seconds(1));
        return once(spec);
      };
      Acquisition first(w.a, careful());
      first.held();
      Acquisition second(w.b, careful());
      second.held();
      const auto shown = w.b.inspect(name(key));
      REQUIRE(shown);
      SystemClock clock;
      const TimePoint before = clock.now();
      REQUIRE(w.b.force_release(name(key), *shown, ""));
      const LockSpec newcomer = mode == Mode::kShared ? exclusive(key) : permits(key, 2);
      Acquisition early(w.b, once(newcomer));
      const auto answer = early.wait_for<Refused>();
      REQUIRE(answer);
      CHECK(answer->error.code == ErrorCode::kBusy);
      LockSpec patient = newcomer;
      patient.owner = Owner::random();
      Acquisition next(w.b, patient);
      next.held();
      CHECK(clock.now() - before >= careful().lock_delay);
      next.release();
    }
  });
}

}  // namespace dlock::testing::lock_delay_test
