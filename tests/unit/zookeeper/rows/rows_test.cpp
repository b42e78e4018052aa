// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/rows.h"

#include <doctest/doctest.h>

#include "backends/zookeeper/lock/ensemble.h"
#include "lib/stock/row_stock.h"
#include "tests/support/fake_clock.h"
#include "tests/support/rows_contract.h"
#include "tests/unit/zookeeper/fake_ensemble.h"

namespace dlock::zookeeper::rows_test {
namespace {

using namespace std::chrono_literals;
using dlock::testing::add_to;
using dlock::testing::FakeClock;
using dlock::testing::put;
using dlock::testing::rows_contract;
using dlock::testing::RowsCase;
using dlock::testing::RowsWorld;
using dlock::testing::tell;
using testing::FakeEnsemble;

const LockName kGroup = *LockName::parse("phone");

struct World {
  World() {
    ensemble.time_ms = [this] { return 1'000'000 + clock.since_start() / 1ms; };
  }
  std::unique_ptr<Rows> client() {
    const auto url = BackendUrl::parse("zk://127.0.0.1/shop");
    auto opened = Ensemble::of(*url, clock, [this](const SessionSettings& s) { return ensemble.open(s); });
    return make_rows(std::move(*opened), {"stock", "many/", 1h}, {clock, log});
  }
  CallLimit limit() const { return {clock.now() + 5s}; }

  FakeClock clock;
  FakeEnsemble ensemble;
  const Log log{Log::Style{.quiet = true}};
};

}  // namespace

TEST_CASE("zookeeper rows: they keep the contract") {
  for (const RowsCase& one : rows_contract()) {
    INFO(one.name);
    World w;
    const auto a = w.client(), b = w.client();
    one.run({*a, *b, kGroup, w.clock});
  }
}

TEST_CASE("zookeeper rows: a session that the servers have lost with all data is replaced, once it would have ended") {
  World w;
  const auto rows = w.client();
  REQUIRE(rows->commit(kGroup, {put("x", "1")}, w.limit()));
  w.ensemble.empty();
  const auto refused = rows->commit(kGroup, {put("y", "1")}, w.limit());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  while (w.clock.since_start() < w.ensemble.last_timeout - 1s) {
    CHECK_FALSE(rows->commit(kGroup, {put("y", "1")}, {w.clock.now() + 1s}));
    w.clock.advance(1s);
  }
  w.clock.advance(2s);
  const auto made = rows->commit(kGroup, {put("x", "2")}, w.limit());
  INFO((made ? std::string() : made.error().message));
  REQUIRE(made);
  CHECK(*made > 0);
}

TEST_CASE("zookeeper rows: a session that was left alone for half of its time is replaced before somebody asks in it") {
  World w;
  const auto rows = w.client();
  REQUIRE(rows->commit(kGroup, {put("x", "1")}, w.limit()));
  const auto session = [&] { return w.ensemble.sessions.back()->id(); };
  const std::int64_t first = session();
  for (int i = 0; i < 9; ++i) {
    w.clock.advance(w.ensemble.last_timeout / 3);
    CHECK(rows->list(kGroup, "open/", w.limit()));
  }
  CHECK(session() == first);
  w.clock.advance(w.ensemble.last_timeout / 2);
  CHECK(rows->list(kGroup, "open/", w.limit()));
  CHECK(session() != first);
}

TEST_CASE("zookeeper rows: what a write that raced has read is read again, and what others have cleared is made anew") {
  World w;
  const auto a = w.client(), b = w.client();
  REQUIRE(a->commit(kGroup, {put("n/0", "9")}, w.limit()));
  REQUIRE(b->commit(kGroup, {add_to("n/0", {-1})}, w.limit()));
  REQUIRE(b->commit(kGroup, {dlock::testing::clear_group()}, w.limit()));
  const auto gone = a->commit(kGroup, {add_to("n/0", {-1})}, w.limit());
  REQUIRE(gone);
  CHECK(*gone == 0);
  const auto made = a->commit(kGroup, {put("n/0", "3")}, w.limit());
  REQUIRE(made);
  CHECK(*made > 0);
  const auto look = b->read(kGroup, std::vector<std::string>{"n/0"}, w.limit());
  REQUIRE(look);
  CHECK(look->rows.front().text == "3");
}

TEST_CASE("zookeeper rows: what others change between the two readings of a look does not keep it from one moment") {
  for (int i = 0; i < 100; ++i) {
    const int at = 1 + i / 10, also = i % 10;
    INFO("changes before requests " << at << " and " << also);
    World w;
    const auto a = w.client(), b = w.client();
    REQUIRE(a->commit(kGroup, {put("n/1", "20"), put("n/2", "0"), put("n/3", "0")}, w.limit()));
    REQUIRE(b->commit(kGroup, {add_to("n/1", {0})}, w.limit()));
    const TimePoint began = w.clock.now();
    bool inside = false;
    int asked = 0;
    w.ensemble.before_each = [&](FakeEnsemble::FakeSession&, const Request&) {
      if (inside || (++asked != at && asked != also)) return;
      inside = true;
      CHECK(*b->commit(kGroup, {add_to("n/1", {-7}), add_to("n/3", {7})}, w.limit()) > 0);
      inside = false;
    };
    const auto look = a->read(kGroup, std::vector<std::string>{"n/1", "n/2", "n/3"}, w.limit());
    REQUIRE(look);
    CHECK(std::stoi(look->rows[0].text) + std::stoi(look->rows[2].text) == 20);
    if (also == 0) CHECK(w.clock.now() == began);  // nothing was read again
  }
}

TEST_CASE("zookeeper rows: who is told while the answer to its listening is on its way hears that") {
  World w;
  const auto a = w.client(), b = w.client();
  REQUIRE(b->commit(kGroup, {put("x", "1")}, w.limit()));
  REQUIRE(a->read(kGroup, std::vector<std::string>{"x"}, w.limit()));
  auto* session = w.ensemble.sessions.back();
  bool asked = false;
  w.ensemble.before_each = [&](FakeEnsemble::FakeSession&, const Request& one) { asked = asked || one.watch; };
  session->looked_at = [&] {
    if (std::exchange(asked, false)) CHECK(b->commit(kGroup, {put("y", "1"), tell("x")}, w.limit()));
  };
  const auto listens = a->listen(kGroup, "x", w.limit());
  REQUIRE(listens);
  CHECK(*listens);
  CHECK(a->heard());
}

TEST_CASE("zookeeper rows: who listens hears that its connection has ended, and then nothing") {
  World w;
  const auto a = w.client(), b = w.client();
  REQUIRE(b->commit(kGroup, {put("x", "1")}, w.limit()));
  REQUIRE(*a->listen(kGroup, "x", w.limit()));
  CHECK_FALSE(a->heard());
  w.ensemble.sessions.back()->go_down();
  CHECK(a->heard());
  CHECK_FALSE(a->heard());
  REQUIRE(*a->listen(kGroup, "x", w.limit()));
  CHECK(b->commit(kGroup, {put("y", "1"), tell("x")}, w.limit()));
  CHECK(a->heard());
}

}  // namespace dlock::zookeeper::rows_test
