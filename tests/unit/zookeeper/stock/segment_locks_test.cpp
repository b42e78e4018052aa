// SPDX-License-Identifier: Apache-2.0
#include "lib/stock/segment_locks.h"

#include <doctest/doctest.h>

#include "lib/stock/stock_hold.h"
#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::segment_locks_test {
namespace {

using namespace testing;

LockSpec locked_order() {
  LockSpec spec{.name = kPhone, .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  spec.stock = StockClaim{id("a"), 2, true};
  spec.wait.connect_timeout = 5s;
  return spec;
}

std::string place(int segment) { return "/shop/stock:phone:" + std::to_string(segment); }

Result<std::unique_ptr<LockDriver>> no_lock(const LockSpec& /*spec*/) {
  return Error{ErrorCode::kInternal, "the stock's own locks serve"};
}

/// As a command that ends with 0 does it.
void run_order(World& w) {
  NoControl control;
  StockHold hold(w.client(), locked_order(), no_lock, {w.clock, w.log});
  const auto answer = hold.acquire(control);
  REQUIRE(answer);
  const auto* refused = std::get_if<Refused>(&*answer);
  INFO((refused ? refused->error.message : std::string()));
  REQUIRE_FALSE(refused);
  hold.command_ended(0);
  CHECK(hold.release(w.clock.now() + 5s));
}

}  // namespace

TEST_CASE("An order under the lock of a free segment is two transactions, in one session") {
  World w;
  w.create(90, 3);
  run_order(w);  // makes the directories
  const auto stock = w.client();
  const LockSpec spec = locked_order();
  StockRequest request = order("b", 2);
  int transactions = 0;
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& asked) {
    transactions += static_cast<int>(asked.kind == Request::Kind::kChange);
  };
  for (int segment = 0; segment < 3; ++segment) w.ensemble.nodes.try_emplace(place(segment));
  w.ensemble.nodes.try_emplace(parent_of(request_path(w.life(), request.id)));
  stock->segment_locks()->work_for(spec);
  auto choice = stock->segment_locks()->lock_one(request, 1, 30s, w.limit());
  REQUIRE((choice && *choice));
  CHECK((*choice)->segment == 1);
  REQUIRE((*choice)->lock);
  REQUIRE((*choice)->answer);
  CHECK(std::get<StockTaken>(*(*choice)->answer).token > FencingToken());
  CHECK(w.ensemble.last_timeout == 45s);
  CHECK(w.ensemble.children(place(1)).size() == 1);
  CHECK(transactions == 1);
  CHECK(stock->confirm(request, spec.owner, w.limit()));
  CHECK(transactions == 2);
  CHECK(w.ensemble.children(place(1)).empty());
  CHECK((*choice)->lock->release(w.clock.now() + 5s));
  CHECK(transactions == 2);
  CHECK(w.ensemble.sessions.size() == 1);
  CHECK(w.state().taken == 4);
}

TEST_CASE("Whatever reply is lost: an order under a lock is sold once, and leaves no lock behind") {
  for (const bool done : {false, true}) {
    bool lost = true;
    for (int n = 1; lost; ++n) {
      INFO("reply ", n, done ? ", carried out" : ", not carried out");
      World w;
      w.create(9, 3);
      w.ensemble.lost_is_done = done;
      const int before = w.ensemble.requests;
      w.ensemble.lose_reply_of = before + n;
      run_order(w);
      lost = w.ensemble.requests - before >= n;
      w.ensemble.lose_reply_of = 0;
      CHECK(w.state().taken == 2);
      CHECK(w.state().open == 0);
      for (int segment = 0; segment < 3; ++segment) CHECK(w.ensemble.children(place(segment)).empty());
    }
  }
}

TEST_CASE("Who finds that somebody queued before him gives the segment back, and queues") {
  World w;
  w.create(9, 1);
  run_order(w);
  const auto stock = w.client();
  const LockSpec spec = locked_order();
  w.ensemble.before_each = [&](const FakeEnsemble::FakeSession& /*session*/, const Request& asked) {
    if (asked.changes.size() < 3 || !w.ensemble.children(place(0)).empty()) return;
    w.ensemble.foreign(place(0) + "/_c_00000000-0000-0000-0000-000000000000-lock-");
  };
  stock->segment_locks()->work_for(spec);
  const auto choice = stock->segment_locks()->lock_one(order("b", 2), 0, 30s, w.limit());
  REQUIRE((choice && *choice));
  CHECK_FALSE((*choice)->lock);
  CHECK_FALSE((*choice)->answer);
  CHECK(w.ensemble.children(place(0)).size() == 1);
  CHECK(w.state().open == 0);
  CHECK(w.state().taken == 2);
}

}  // namespace dlock::zookeeper::segment_locks_test
