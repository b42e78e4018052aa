// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/transaction.h"

#include <doctest/doctest.h>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/stock/stock_rows.h"
#include "lib/stock/ledger_stock.h"
#include "tests/unit/mysql/fake_server.h"

namespace dlock::mysql::testing::transaction_test {
namespace {

using namespace std::chrono_literals;
using Log = std::vector<std::string>;
using Fault = FakeServer::Fault;

DatabaseSettings at(const char* host) {
  return {.endpoint = {host, 3306, ""}, .user = "u", .password = "", .database = "db", .tls = {}, .batches = true};
}

struct World {
  FakeClock clock;
  FakeServer server{clock};
  Transaction transaction{Servers({at("h")}, server.dial(), clock), clock};

  CallLimit limit() const { return {clock.now() + 10s}; }
  void begin() { REQUIRE(transaction.begin(limit())); }
};

struct StockWorld {
  FakeClock clock;
  FakeServer server{clock};
  dlock::Log log;
  std::unique_ptr<Stock> stock = ledger_stock(std::make_unique<StockRows>(
      Settings{.servers = {at("h")}, .row = {}, .store = "s"}, server.dial(), Runtime{clock, log}));

  const StockRequest request{*LockName::parse("phone"), *LockName::parse("order"), 2};
  const Answer found{{{"7", "maker", "20", "100", "0", "0"}}, 0};

  Result<StockAnswer> take() { return stock->take(request, 3, {clock.now() + 10s}); }
};

}  // namespace

TEST_CASE("transaction: changes are kept until something is read, or it ends") {
  World w;
  w.begin();
  w.transaction.write("A");
  w.transaction.read("Q");
  w.transaction.write("B");
  REQUIRE(w.transaction.commit());
  CHECK(w.server.log == Log{"SET SESSION innodb_lock_wait_timeout=2;START TRANSACTION;A;Q", "B;COMMIT"});
  w.begin();
  REQUIRE(w.transaction.commit("LAST"));
  CHECK(w.server.log.back() == "START TRANSACTION;LAST;COMMIT");  // the connection knows how long to wait
}

TEST_CASE("transaction: after a failure nothing is sent but ROLLBACK, and commit tells") {
  for (const int code : {1213, 1205, kDuplicateKey, 1146}) {
    CAPTURE(code);
    World w;
    w.begin();
    w.server.next("Q", code);
    CHECK(w.transaction.read("Q").empty());
    w.transaction.write("A");
    CHECK(w.transaction.read("R").empty());
    CHECK(w.transaction.failed());
    CHECK_FALSE(w.transaction.commit());
    CHECK(w.server.log.back() == "ROLLBACK");
    CHECK(w.server.heard("R") == 2);  // in START and in ROLLBACK
    CHECK(w.transaction.failure_code() == code);
    CHECK(w.transaction.is_worth_repeating() == (code != 1146));
  }
}

TEST_CASE("transaction: what is not worth repeating when the time is over") {
  World w;
  w.begin();
  w.server.next("Q", 1213);
  w.clock.advance(11s);
  w.transaction.read("Q");
  CHECK_FALSE(w.transaction.is_worth_repeating());
}

TEST_CASE(
    "transaction: cut off at COMMIT nobody knows: Unavailable, never repeated by itself, and the next connects anew") {
  for (const Fault fault : {Fault::kDone, Fault::kNotDone}) {
    World w;
    w.begin();
    w.transaction.write("A");
    w.server.next("COMMIT", fault);
    const auto done = w.transaction.commit();
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ErrorCode::kUnavailable);
    CHECK_FALSE(w.transaction.is_worth_repeating());
    CHECK(w.server.heard("ROLLBACK") == 0);
    w.begin();
    REQUIRE(w.transaction.commit("Q"));
    CHECK(w.server.connected.size() == 2);
  }
}

TEST_CASE("transaction: what was begun and left is rolled back before the next one, which would commit it") {
  World w;
  w.begin();
  w.transaction.read("A");
  w.begin();
  REQUIRE(w.transaction.commit("Q"));
  CHECK(w.server.log[1] == "ROLLBACK");
  CHECK(w.server.log[2].starts_with("START TRANSACTION"));
}

TEST_CASE("mysql stock: an order is one round trip once the stock is known") {
  StockWorld w;
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("LAST_INSERT_ID", Answer{{{"5"}}, 0});
  const auto answer = w.take();
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{5, 2}});
  w.server.log.clear();
  w.server.next("segment>=3", Answer{{{"9000000000000000000"}}, 0});  // none from there on
  w.server.next("segment<3", Answer{{{"0"}}, 0});
  CHECK(std::get<StockTaken>(*w.take()).parts == StockParts{{0, 2}});
  CHECK(w.server.log.size() == 2);
}

TEST_CASE("mysql stock: an id that was used before is rolled back, looked up, and answered as then") {
  StockWorld w;
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("LAST_INSERT_ID", kDuplicateKey);
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("SELECT record", Answer{{{"T 2 3:2 - 0"}}, 0});
  const auto answer = w.take();
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).repeated);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{3, 2}});
  CHECK(w.server.heard("ROLLBACK") == 1);
}

TEST_CASE("mysql stock: a deadlock is run again, from the beginning, and shown to nobody") {
  StockWorld w;
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("SELECT record", 1213);
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("SELECT record", Answer{{{"T 2 3:2 - 0"}}, 0});
  const auto back = w.stock->refund(w.request.stock, w.request.id, {}, {w.clock.now() + 10s});
  REQUIRE(back);
  CHECK(*back == StockParts{{3, 2}});
  CHECK(w.server.heard("UPDATE dlock_stock_segment") == 1);
}

}  // namespace dlock::mysql::testing::transaction_test
