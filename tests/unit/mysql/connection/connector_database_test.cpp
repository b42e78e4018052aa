// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/database.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstring>
#include <string_view>

#include "backends/mysql/connection/errors.h"
#include "lib/base/unique_fd.h"

namespace dlock::mysql::testing::connector_database_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr Duration kLong = 20s;  ///< what takes so long is broken

/// The answer to a query: one column, and its end, and that of the rows.
std::string_view no_rows() {
  return "\1\0\0\1\1\x18\0\0\2\3def\0\0\0\1c\1c\x0c\x3f\0\0\1\0\0\xfd\0\0\0\0\0\5\0\0\3\xfe\0\0\2\0\5\0\0\4\xfe\0\0\2\0"sv;
}

constexpr std::string_view kDone = "\7\0\0\1\0\1\0\2\0\0\0"sv;

/// One row of one column, "1".
std::string one() {
  const std::string_view nothing = no_rows();
  const std::string_view end = "\5\0\0\4\xfe\0\0\2\0"sv;
  return std::string(nothing.substr(0, nothing.size() - end.size())) + "\2\0\0\4\1"s + "1" + "\5\0\0\5\xfe\0\0\2\0"s;
}

/// The same with a second row, of 3000 bytes.
std::string one_and_a_long_one() {
  const std::string end = "\5\0\0\6\xfe\0\0\2\0"s;
  return one().substr(0, one().size() - end.size()) + "\xbb\x0b\0\5\xfc\xb8\x0b"s + std::string(3000, 'x') + end;
}

/// A server on loopback that says what the test says. Its reads wait `kLong` at most.
class Server {
 public:
  Server() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* address = reinterpret_cast<sockaddr*>(&address_);
    REQUIRE(bind(listener_.get(), address, size) == 0);
    REQUIRE(listen(listener_.get(), 8) == 0);
    REQUIRE(getsockname(listener_.get(), address, &size) == 0);
  }

  DatabaseSettings settings(bool batches = false) const {
    DatabaseSettings settings;
    settings.endpoint = {"127.0.0.1", ntohs(address_.sin_port), ""};
    settings.user = "app";
    settings.password = "hunter22";
    settings.database = "locks";
    settings.connect_timeout = kLong;
    settings.batches = batches;
    return settings;
  }

  void accept() {
    client_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval longest{std::chrono::duration_cast<std::chrono::seconds>(kLong).count(), 0};
    setsockopt(client_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  }
  void say(std::string_view bytes) { REQUIRE(send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0); }
  void greet() {
    say("\x49\0\0\0\x0a"
        "8.0.0\0\7\0\0\0abcdefgh\0\x89\xa2\x21\2\0\x0b\0\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0"
        "mysql_native_password\0"sv);
  }
  /// Until the connection is set up.
  void let_in() {
    accept();
    greet();
    REQUIRE(hear());
    say("\7\0\0\2\0\0\0\2\0\0\0"sv);
    for (std::string heard; heard.find("wait_timeout") == std::string::npos;) {
      heard = hear().value_or("");
      REQUIRE(heard != "");
      say(heard.find("SHOW") == std::string::npos ? "\7\0\0\1\0\0\0\2\0\0\0"sv : no_rows());
    }
  }
  /// What the client says next; "" when it has gone; nullopt: nothing.
  std::optional<std::string> hear() {
    char bytes[4096];
    const ssize_t size = recv(client_.get(), bytes, sizeof bytes, 0);
    if (size < 0) return errno == ECONNRESET ? std::optional<std::string>("") : std::nullopt;
    return std::string(bytes, static_cast<std::size_t>(size));
  }
  void hang_up() { client_.reset(); }
  void stop_listening() { listener_.reset(); }

 private:
  UniqueFd listener_;
  UniqueFd client_;
  sockaddr_in address_{};
};

/// A connection that is set up.
struct Connected {
  explicit Connected(bool batches = false) : database(connect_by_connector(server.settings(batches))) {
    server.let_in();
    REQUIRE(std::holds_alternative<Answer>(await(*database, clock, clock.now() + kLong, nullptr)));
  }
  AnswerOrFailure outcome(Duration longest = kLong) { return await(*database, clock, clock.now() + longest, nullptr); }
  Answer answer() {
    const AnswerOrFailure got = outcome();
    REQUIRE(std::holds_alternative<Answer>(got));
    return std::get<Answer>(got);
  }
  bool hears(const std::string& piece) { return server.hear().value_or("").find(piece) != std::string::npos; }

  Server server;
  SystemClock clock;
  std::unique_ptr<Database> database;
};

Failure failure_of(const std::optional<AnswerOrFailure>& outcome) {
  REQUIRE(outcome);
  REQUIRE(std::holds_alternative<Failure>(*outcome));
  return std::get<Failure>(*outcome);
}

Failure outcome_of(Database& database) {
  SystemClock clock;
  return failure_of(await(database, clock, clock.now() + kLong, nullptr));
}

TEST_CASE("mysql/connector: where nobody listens the connection fails at once, and is not usable") {
  Server server;
  const DatabaseSettings settings = server.settings();
  server.stop_listening();
  const auto database = connect_by_connector(settings);
  const Failure failure = outcome_of(*database);
  CHECK(failure.cut_off);
  CHECK_FALSE(failure.cancelled);
  CHECK_FALSE(database->usable());
  CHECK_FALSE(database->outcome());
}

TEST_CASE("mysql/connector: a call that is abandoned has its outcome at once, even if no server has said anything") {
  Server server;
  const auto database = connect_by_connector(server.settings());
  server.accept();
  CHECK_FALSE(database->outcome());
  database->close();
  const Failure failure = failure_of(database->outcome());
  CHECK(failure.cut_off);
  CHECK(failure.cancelled);
  CHECK_FALSE(database->usable());
  database->begin("SELECT 1");
  CHECK(failure_of(database->outcome()).cut_off);
}

TEST_CASE("mysql/connector: a server that is waited for sees that it was abandoned") {
  Server server;
  const auto database = connect_by_connector(server.settings());
  server.accept();
  server.greet();
  CHECK(server.hear().value_or("").find("app") != std::string::npos);
  CHECK_FALSE(database->outcome());
  database->close();
  CHECK(server.hear() == "");
}

TEST_CASE("mysql/connector: a connection that was abandoned before the server spoke ends when it speaks") {
  Server server;
  connect_by_connector(server.settings()).reset();
  server.accept();
  server.greet();
  CHECK(server.hear() == "");
}

TEST_CASE("mysql/connector: a server that wants the password itself is told nothing more, and its way is named") {
  Server server;
  const auto database = connect_by_connector(server.settings());
  server.accept();
  server.greet();
  CHECK(server.hear().value_or("").find("app") != std::string::npos);
  server.say("\x17\0\0\2\xfemysql_clear_password\0x"sv);
  const Failure failure = outcome_of(*database);
  CHECK(failure.code == kLoginRefused);
  CHECK(failure.text == "mysql_clear_password");
  CHECK(server.hear() == "");
}

TEST_CASE(
    "mysql/connector: who listens to nobody else carries a statement out itself, and is back in time all the same") {
  Server server;
  SystemClock clock;
  const auto database = connect_by_connector(server.settings());
  server.let_in();
  REQUIRE(std::holds_alternative<Answer>(await(*database, clock, clock.now() + kLong, nullptr)));
  const TimePoint begin = clock.now();
  const Failure failure = failure_of(ask(*database, "UPDATE t", clock, begin + 50ms, nullptr));
  CHECK(clock.now() >= begin + 50ms);
  CHECK(clock.now() < begin + kLong);
  CHECK(failure.cut_off);
  CHECK(failure.cancelled);
  CHECK_FALSE(database->usable());
  CHECK(server.hear().value_or("").find("UPDATE t") != std::string::npos);
  CHECK(server.hear() == "");
}

TEST_CASE("mysql/connector: an answer in one piece, and one that comes byte by byte") {
  Connected connected;
  connected.database->begin("UPDATE t");
  CHECK(connected.hears("UPDATE t"));
  connected.server.say(kDone);
  CHECK(connected.answer().changed == 1);

  connected.database->begin("UPDATE u");
  CHECK(connected.hears("UPDATE u"));
  for (const char byte : std::string_view(kDone).substr(0, 6)) {
    connected.server.say({&byte, 1});
    CHECK_FALSE(connected.database->outcome());
  }
  connected.server.say(kDone.substr(6));
  CHECK(connected.answer().changed == 1);

  connected.database->begin("SELECT 1");
  CHECK(connected.hears("SELECT 1"));
  connected.server.say(one());
  CHECK(connected.answer().rows == std::vector<Row>{{"1"}});
}

TEST_CASE("mysql/connector: of a batch all rows are brought, in one piece, in two, and byte by byte") {
  Connected connected(true);
  std::string both = one();
  both[both.size() - 2] = '\x0a';  // another answer follows
  const std::size_t middle = both.size();
  both += kDone;
  const std::string batch = "SELECT 1;COMMIT";
  for (const std::size_t piece : {both.size(), middle, std::size_t{1}}) {
    connected.database->begin(batch);
    CHECK(connected.hears(batch));
    CHECK_FALSE(connected.database->outcome());
    for (std::size_t at = 0; at < both.size(); at += piece) {
      connected.server.say(std::string_view(both).substr(at, piece));
      if (at + piece < both.size()) CHECK_FALSE(connected.database->outcome());
    }
    const Answer answer = connected.answer();
    CHECK(answer.rows == std::vector<Row>{{"1"}});
    CHECK(answer.number == 0);
  }
  connected.database->begin(batch);
  CHECK(connected.hears(batch));
  connected.server.say(std::string_view(both).substr(0, middle));
  connected.server.say("\x16\0\0\5\xff\x15\4#28000Access denied"sv);
  CHECK(failure_of(connected.outcome()).code == 1045);
  CHECK(connected.database->usable());
}

TEST_CASE("mysql/connector: what follows is sent after a row that begins with 1, and only then") {
  Connected connected;
  const std::string first = one();
  const std::vector<std::string> ways[] = {{first}, {first.substr(0, 9), first.substr(9)}, {one_and_a_long_one()}};
  for (const std::vector<std::string>& pieces : ways) {
    connected.database->begin("SELECT GET_LOCK", "UPDATE t");
    CHECK(connected.hears("SELECT GET_LOCK"));
    CHECK(connected.database->went_on());
    CHECK_FALSE(connected.database->outcome());
    for (const std::string& piece : pieces) {
      connected.server.say(piece);
      CHECK_FALSE(connected.database->outcome());
    }
    CHECK(connected.hears("UPDATE t"));
    connected.server.say(kDone);
    const Answer answer = connected.answer();
    CHECK(answer.changed == 1);
    CHECK(answer.went_on);
    CHECK(connected.database->went_on());
  }
  connected.database->begin("SELECT GET_LOCK", "UPDATE t");
  CHECK(connected.hears("SELECT GET_LOCK"));
  connected.server.say(no_rows());
  CHECK_FALSE(connected.answer().went_on);
  CHECK_FALSE(connected.database->went_on());
  connected.database->begin("DO 1");
  CHECK(connected.hears("DO 1"));
}

TEST_CASE("mysql/connector: a server that begins to answer and does not go on holds nobody up") {
  for (const std::string_view beginning : {kDone.substr(0, 3), kDone.substr(0, 8), no_rows().substr(0, 30),
                                           "\x0d\0\0\1\xff\xff\xff\1\1\2\0\0\0\4work"sv}) {
    Connected connected;
    connected.database->begin("UPDATE t");
    CHECK(connected.hears("UPDATE t"));
    connected.server.say(beginning);
    const TimePoint begin = connected.clock.now();
    const Failure failure = failure_of(connected.outcome(50ms));
    CHECK(connected.clock.now() < begin + kLong);
    CHECK(failure.cut_off);
    CHECK_FALSE(connected.database->usable());
    CHECK(connected.server.hear() == "");
  }
}

TEST_CASE("mysql/connector: a connection that ends under a statement is cut off") {
  Connected connected;
  connected.database->begin("UPDATE t", "UPDATE u");
  CHECK(connected.hears("UPDATE t"));
  connected.server.hang_up();
  CHECK(failure_of(connected.outcome()).cut_off);
  CHECK_FALSE(connected.database->went_on());
  CHECK_FALSE(connected.database->usable());
}

TEST_CASE("mysql/connector: two answers to one statement, which could be mistaken for that to the next, cut it off") {
  Connected connected;
  connected.database->begin("UPDATE t");
  CHECK(connected.hears("UPDATE t"));
  connected.server.say("\7\0\0\1\0\1\0\x0a\0\0\0"sv);
  CHECK(failure_of(connected.outcome()).cut_off);
  CHECK_FALSE(connected.database->usable());
}

}  // namespace
}  // namespace dlock::mysql::testing::connector_database_test
