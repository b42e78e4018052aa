// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/rows/transaction.h"

#include <doctest/doctest.h>

#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/sql_text.h"
#include "backends/mysql/rows/rows.h"
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

struct RowsWorld {
  FakeClock clock;
  FakeServer server{clock};
  dlock::Log log;
  std::unique_ptr<Rows> rows = make_rows(Settings{.servers = {at("h")}, .row = {}, .store = "s"}, server.dial(),
                                         {"stock", "many/"}, Runtime{clock, log});
  const LockName group = *LockName::parse("phone");

  CallLimit limit() const { return {clock.now() + 10s}; }
  Rows::Commit take(const std::string& id) const {
    return {{.key = "many/" + id, .text = "T 1"}, {Rows::Change::Kind::kAdd, "segment/3", 0, {}, {-1, 0, 1, 0}}};
  }
  std::vector<bool> made(const std::vector<Rows::Commit>& commits) {
    std::vector<bool> made;
    for (const auto& one : rows->commit_each(group, commits, Rows::Tell::kMade, limit())) {
      REQUIRE(one);
      made.push_back(*one != 0);
    }
    return made;
  }
};

}  // namespace

TEST_CASE("transaction: changes are kept until something is read, or it ends") {
  World w;
  w.begin();
  w.transaction.write("A");
  w.transaction.read("Q");
  w.transaction.write("B");
  REQUIRE(w.transaction.commit());
  const std::string begin = std::string(kMindReadOnly) + ";START TRANSACTION;";
  CHECK(w.server.log == Log{"SET SESSION innodb_lock_wait_timeout=2;" + begin + "A;Q", "B;COMMIT"});
  w.begin();
  REQUIRE(w.transaction.commit("LAST"));
  CHECK(w.server.log.back() == begin + "LAST;COMMIT");  // the connection knows how long to wait
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

TEST_CASE("transaction: a line that breaks within TLS is an outage, and what a server refuses for now is said by it") {
  struct Row {
    int code;
    bool undone;
    Outage outage;
  };
  for (const Row& row :
       {Row{kTlsError, false, Outage::kSilent}, Row{1792, true, Outage::kRefused}, Row{2013, false, Outage::kSilent}}) {
    CAPTURE(row.code);
    World w;
    w.begin();
    w.server.next("Q", row.code);
    w.transaction.read("Q");
    const auto done = w.transaction.commit();
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ErrorCode::kUnavailable);
    CHECK(done.error().undone == row.undone);
    CHECK(done.error().outage == row.outage);
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
  CHECK(w.server.log[2].starts_with(kMindReadOnly));
}

TEST_CASE("mysql rows: no mark is set beside an equation, from which MySQL 9 knows the column of any row") {
  RowsWorld w;
  using enum Rows::Change::Kind;
  w.made({{{.kind = kCheck, .key = "x", .version = 7}, {.kind = kRemove, .key = "y", .version = 8}}});
  CHECK(w.server.log.back().find(" AND IF(version=7,LAST_INSERT_ID(") != std::string::npos);
  CHECK(w.server.log.back().find(" AND version=8,LAST_INSERT_ID(") != std::string::npos);
}

TEST_CASE("mysql rows: a commit is one round trip, and so is a look") {
  RowsWorld w;
  CHECK(w.made({w.take("a")}) == std::vector<bool>{true});
  REQUIRE(w.server.log.size() == 1);
  CHECK(w.server.log.back().find("a=a+(-1),c=c+(1) WHERE") != std::string::npos);
  CHECK(w.server.log.back().find(" AND IF(a>=1 AND c<=9007199254740991,LAST_INSERT_ID(") != std::string::npos);
  CHECK(w.server.log.back().ends_with(";COMMIT"));
  REQUIRE(w.rows->read(w.group, std::vector<std::string>{"x", "y"}, w.limit()));
  CHECK(w.server.log.size() == 2);
}

TEST_CASE("mysql rows: a row that is not as it has to be refuses the commit, which is rolled back") {
  for (const int code : {kNullValue, kDuplicateKey, kOutOfRange}) {
    CAPTURE(code);
    RowsWorld w;
    w.server.next("INSERT", code);
    CHECK(w.made({w.take("a")}) == std::vector<bool>{false});
    CHECK(w.server.heard("ROLLBACK") == 1);
    CHECK(w.server.heard("INSERT") == 1);
  }
}

TEST_CASE("mysql rows: a deadlock is run again, and shown to nobody") {
  RowsWorld w;
  w.server.next("INSERT", 1213);
  CHECK(w.made({w.take("a")}) == std::vector<bool>{true});
  CHECK(w.server.heard("INSERT") == 2);
}

TEST_CASE("mysql rows: many commits are one transaction, in which each row is written once") {
  RowsWorld w;
  std::vector<Rows::Commit> takes;
  for (int i = 0; i < 100; ++i) takes.push_back(w.take(std::to_string(i)));
  CHECK(w.made(takes) == std::vector<bool>(100, true));
  REQUIRE(w.server.log.size() == 1);
  CHECK(w.server.log.back().find("a=a+(-100),c=c+(100)") != std::string::npos);
}

TEST_CASE("mysql rows: of many commits the one that is refused is found, and the others are made") {
  RowsWorld w;
  std::vector<Rows::Commit> takes;
  for (int i = 0; i < 4; ++i) takes.push_back(w.take(std::to_string(i)));
  for (int i = 0; i < 3; ++i) w.server.next(literal("many/2"), kDuplicateKey);  // of four, of two, alone
  CHECK(w.made(takes) == std::vector<bool>{true, true, false, true});
}

}  // namespace dlock::mysql::testing::transaction_test
