// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/transaction.h"

#include <doctest/doctest.h>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/stock/stock_rows.h"
#include "lib/stock/stock_ledger.h"
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
  const auto answer = w.take();
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{3, 2}});
  w.server.log.clear();
  REQUIRE(w.take());
  CHECK(w.server.log.size() == 1);
}

TEST_CASE("mysql stock: a segment that is short is left for one that a look finds") {
  StockWorld w;
  w.server.next("FROM dlock_stock s", w.found);
  w.server.next("AND segment=3 AND quantity>=2", kNullValue);
  w.server.next("segment<3", Answer{{{"1", "12"}}, 0});
  const auto answer = w.take();
  REQUIRE(answer);
  CHECK(std::get<StockTaken>(*answer).parts == StockParts{{1, 2}});
  CHECK(w.server.heard("ROLLBACK") == 1);
  CHECK(w.server.heard("segment>=3") == 1);
}

TEST_CASE("mysql stock: many steps are three round trips, each segment is written once, and tokens are told to all") {
  StockWorld w;
  const auto id = [](int number) { return *LockName::parse("order-" + std::to_string(number)); };
  std::vector<StockStep> steps;
  for (int i = 0; i < 100; ++i) steps.push_back({.id = id(i), .start = 0});
  w.server.next("FROM dlock_stock s", w.found);
  Answer known{{{id(7).text(), "T 1 3:1 - 0"}}, 0};
  for (int segment = 0; segment < 20; ++segment) known.rows.push_back({std::to_string(segment), "1000", "0"});
  w.server.next("ORDER BY segment FOR UPDATE", known);
  const auto limit = CallLimit{w.clock.now() + 10s};
  const auto takes = w.stock->serve(w.request.stock, steps, limit);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(takes[static_cast<std::size_t>(i)]);
    CHECK(std::get<StockTaken>(*takes[static_cast<std::size_t>(i)]).repeated == (i == 7));
  }
  REQUIRE(w.server.log.size() == 3);
  CHECK(w.server.log.back().find("quantity=quantity+(-99),taken=taken+(99)") != std::string::npos);
  CHECK(w.server.heard("INSERT INTO dlock_stock_request") == 1);
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
  const auto back = w.stock->refund({w.request.stock, w.request.id}, {w.clock.now() + 10s});
  REQUIRE(back);
  CHECK(*back == StockParts{{3, 2}});
  CHECK(w.server.heard("UPDATE dlock_stock_segment") == 1);
}

}  // namespace dlock::mysql::testing::transaction_test
