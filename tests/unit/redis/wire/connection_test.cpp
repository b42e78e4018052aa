// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/connection.h"

#include <doctest/doctest.h>

#include "tests/unit/redis/scripted_server.h"

namespace connection_test {

using namespace dlock;
using namespace dlock::redis;
using namespace dlock::testing;
using namespace std::chrono_literals;

namespace {

/// Wants the wait to end from `at` on.
class StopAt final : public Control {
 public:
  StopAt(FakeClock& clock, Duration at) : clock_(clock), at_(at) {}
  void add_interest(std::vector<pollfd>&) const override {}
  bool stop_requested() override { return clock_.since_start() >= at_; }
  bool take_who() override { return false; }
  void tell(const SessionEvent&) override {}

 private:
  FakeClock& clock_;
  Duration at_;
};

struct World {
  FakeClock clock;
  ScriptedServer server{clock};
  ConnectionSettings settings;

  World() { settings.endpoint = {"10.0.0.1", 6379, ""}; }

  ScriptedConnection& next(std::deque<ScriptedConnection::Piece> pieces) {
    ScriptedConnection& one = server.connections.emplace_back();
    one.pieces = std::move(pieces);
    return one;
  }

  Result<std::vector<Reply>> run(Connection& connection, const std::vector<Command>& commands,
                                 Control* control = nullptr) {
    return exchange(connection, commands, clock, FakeClock::start() + 2s, FakeClock::start() + 5s, control);
  }

  Error fails(const std::vector<Command>& commands = {{"PING"}}) {
    Connection one(settings, server.dial());
    auto replies = run(one, commands);
    REQUIRE_FALSE(replies);
    CHECK(one.is_closed());
    return replies.error();
  }
};

bool says(const Error& error, std::string_view text) { return error.message.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("the greeting goes out in one write with the request, and its answers are kept back") {
  World world;
  world.settings.user = "u";
  world.settings.password = "p";
  world.settings.client_name = "dlock";
  world.settings.greet = Greet::kAlong;
  world.next({{"+OK\r\n+OK\r\n+PONG\r\n"}});
  Connection one(world.settings, world.server.dial());
  auto replies = world.run(one, {{"PING"}});
  REQUIRE(replies);
  REQUIRE(replies->size() == 1);
  CHECK((*replies)[0].text == "PONG");
  REQUIRE(world.server.written.size() == 1);
  CHECK(world.server.written[0] ==
        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$5\r\ndlock\r\n*1\r\n$4\r\n"
        "PING\r\n");
}

TEST_CASE(
    "a server that should be alone is asked what it is: nothing is done for who waits, and what went along is over") {
  const auto hello = [](const std::string& mode) {
    return "*4\r\n$5\r\nproto\r\n:2\r\n$4\r\nmode\r\n$" + std::to_string(mode.size()) + "\r\n" + mode + "\r\n";
  };
  struct Row {
    std::string mode;
    const char* says;
    const char* next;
  };
  const Row rows[] = {{"cluster", "10.0.0.1:6379 is a node of a cluster", "redis+cluster://"},
                      {"sentinel", "10.0.0.1:6379 is a sentinel", "redis+sentinel://10.0.0.1:6379/NAME"}};
  for (const Row& row : rows) {
    for (const Greet greet : {Greet::kFirst, Greet::kAlong}) {
      World world;
      world.settings.alone = "redis";
      world.settings.greet = greet;
      world.next({{hello(row.mode) + (greet == Greet::kAlong ? ":1\r\n" : "")}});
      const Error error = world.fails({{"INCR", "a"}});
      CHECK(error.code == ErrorCode::kMisconfigured);
      CHECK(says(error, row.says));
      CHECK(error.next.find(row.next) != std::string::npos);
      REQUIRE(world.server.written.size() == 1);
      CHECK((world.server.written[0].find("INCR") != std::string::npos) == (greet == Greet::kAlong));
    }
  }
  for (const std::string& answer : {hello("standalone"), std::string("-ERR unknown command 'HELLO'\r\n")}) {
    World world;
    world.settings.alone = "redis";
    world.next({{answer}, {":1\r\n", 0s, 2}});
    Connection one(world.settings, world.server.dial());
    auto replies = world.run(one, {{"INCR", "a"}});
    REQUIRE(replies);
    CHECK(replies->at(0).integer == 1);
    CHECK(world.server.written.size() == 2);
  }
}

TEST_CASE("a server that ends the first connection without a word is asked whether it speaks TLS") {
  struct Row {
    const char* answer;
    ErrorCode code;
    const char* says;
  };
  const Row rows[] = {{"\x15\x03\x03", ErrorCode::kMisconfigured, "10.0.0.1:6379: the server speaks TLS on that port"},
                      {"\x16\x03\x03", ErrorCode::kMisconfigured, "speaks TLS"},
                      {"HTTP/1.1 400", ErrorCode::kUnavailable, "the server closed the connection"},
                      {"", ErrorCode::kUnavailable, "the server closed the connection"}};
  for (const Row& row : rows) {
    World world;
    world.next({}).ends = true;
    world.next(*row.answer != 0 ? std::deque<ScriptedConnection::Piece>{{row.answer}}
                                : std::deque<ScriptedConnection::Piece>{});
    const Error error = world.fails();
    CHECK(error.code == row.code);
    CHECK(says(error, row.says));
    const bool answered_otherwise = row.code == ErrorCode::kUnavailable && *row.answer != 0;
    CHECK(answered_otherwise == (error.next.find("is it a Redis server") == 0));
    CHECK(world.server.dialled == (answered_otherwise ? 3 : 2));  // the third: is it a proxy?
    CHECK(world.server.written.back().starts_with("\x16\x03\x01"));
    CHECK(world.clock.since_start() <= 300ms);
  }
}

TEST_CASE("over TLS, a server that judges us and ends the connection without a word is asked once more") {
  World world;
  world.settings.tls.emplace();
  ScriptedConnection& first = world.next({});
  first.ends = first.judges_us = true;
  SUBCASE("the same end again is a refusal") {
    ScriptedConnection& second = world.next({});
    second.ends = second.judges_us = true;
    const Error error = world.fails({{"SET", "a", "1"}});
    CHECK(error.code == ErrorCode::kDenied);
    CHECK(says(error, "asks for a certificate, and ended two connections without an answer"));
    CHECK(world.server.dialled == 2);
  }
  SUBCASE("nobody listens any more: an outage") {
    CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kUnavailable);
    CHECK(world.server.dialled == 2);
  }
  SUBCASE("it answers now: it was an outage") {
    world.next({{"+PONG\r\n"}}).judges_us = true;
    CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kUnavailable);
  }
  SUBCASE("it says nothing: an outage, when the time to connect is over") {
    world.next({}).judges_us = true;
    CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kUnavailable);
  }
}

TEST_CASE("over TLS, a server that has answered, or asks for no certificate, has refused none") {
  World world;
  world.settings.tls.emplace();
  ScriptedConnection& only = world.next({});
  only.ends = true;
  SUBCASE("asks for none") {}
  SUBCASE("has answered") {
    only.judges_us = true;
    world.settings.client_name = "dlock";
    only.pieces = {{"+OK\r\n"}};
  }
  CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kUnavailable);
  CHECK(world.server.dialled == 1);
}

TEST_CASE("a server that ends connections without a word, but answers PING, is a proxy if it ends that one at HELLO") {
  struct Row {
    std::deque<ScriptedConnection::Piece> pieces;
    ErrorCode code;
    const char* says;
  };
  const Row rows[] = {
      {{{"+PONG\r\n"}}, ErrorCode::kMisconfigured, "10.0.0.1:6379: a proxy (twemproxy) listens there"},
      {{{"+PONG\r\n"}, {"-ERR", 0s, 2}}, ErrorCode::kUnavailable, "the server closed the connection"},  // restarted
      {{{"-NOAUTH"}}, ErrorCode::kUnavailable, "the server closed the connection"},
      {{}, ErrorCode::kUnavailable, "the server closed the connection"},
  };
  for (const Row& row : rows) {
    World world;
    world.next({}).ends = true;
    world.next({}).ends = true;
    world.next(row.pieces).ends = true;
    const Error error = world.fails();
    CHECK(error.code == row.code);
    CHECK(says(error, row.says));
    CHECK(world.server.dialled == 3);
  }
}

TEST_CASE("a refused password is told when what went with it is answered: a server without passwords has done it") {
  World world;
  world.settings.password = "p";
  world.settings.greet = Greet::kAlong;
  world.settings.client_name = "dlock";
  world.next({{"-WRONGPASS no\r\n+OK\r\n"}, {"+OK\r\n", 1s}});
  CHECK(says(world.fails({{"SET", "a", "1"}}), "refused the user or the password"));
  CHECK(world.clock.since_start() == 1s);
}

TEST_CASE("a refused password is the reason, not what is said to strangers after it, nor a connection that ends") {
  for (const char* rest : {"-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n", ""}) {
    World world;
    world.settings.password = "p";
    world.settings.greet = Greet::kAlong;
    world.settings.client_name = "dlock";
    world.next({{std::string("-WRONGPASS no\r\n") + rest}}).ends = true;
    CHECK(says(world.fails({{"SET", "a", "1"}}), "refused the user or the password"));
  }
}

TEST_CASE("behind a password no request goes out before it is accepted, unless its owner says so") {
  World world;
  world.settings.password = "p";
  world.settings.client_name = "dlock";
  const std::string greeting = "*2\r\n$4\r\nAUTH\r\n$1\r\np\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$5\r\ndlock\r\n";
  SUBCASE("refused: it is never sent") {
    world.next({{"-ERR AUTH <password> called without any password configured\r\n+OK\r\n"}});
    CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kDenied);
    CHECK(world.server.written == std::vector<std::string>{greeting});
  }
  SUBCASE("accepted: it follows") {
    world.next({{"+OK\r\n+OK\r\n"}, {":1\r\n", 0s, 2}});
    Connection one(world.settings, world.server.dial());
    auto replies = world.run(one, {{"INCR", "a"}});
    REQUIRE(replies);
    CHECK(replies->at(0).integer == 1);
    CHECK(world.server.written == std::vector<std::string>{greeting, "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"});
  }
  SUBCASE("accepted, with a database: it follows when both are answered") {
    world.settings.database = 3;
    world.next({{"+OK\r\n"}, {"+OK\r\n+OK\r\n", 1s}, {":1\r\n", 2s, 2}});
    Connection one(world.settings, world.server.dial());
    CHECK(world.run(one, {{"INCR", "a"}}));
    CHECK(world.server.written.size() == 2);
    CHECK(world.clock.since_start() == 2s);
  }
}

TEST_CASE("a refused password with a database: the request that waits for the database is never sent") {
  World world;
  world.settings.password = "p";
  world.settings.database = 3;
  world.next({{"-WRONGPASS no\r\n+OK\r\n"}});
  CHECK(world.fails({{"SET", "a", "1"}}).code == ErrorCode::kDenied);
  CHECK(world.server.written.size() == 1);
  CHECK(world.clock.since_start() == 0s);
}

TEST_CASE("a connection that does not come about ends at its limit") {
  World world;
  world.next({}).ready = std::nullopt;
  const Error error = world.fails();
  CHECK(error.message == "cannot reach 10.0.0.1:6379: timed out");
  CHECK(world.clock.since_start() == 2s);
  CHECK(world.server.written.empty());
}

TEST_CASE("a request counts from when it begins to be written: connecting and choosing the database do not count") {
  World world;
  world.settings.database = 3;
  ScriptedConnection& slow = world.next({{"+OK\r\n", 1500ms, 1}, {":1\r\n", 1700ms, 2}});
  slow.ready = 1s;
  Connection one(world.settings, world.server.dial());
  REQUIRE(world.run(one, {{"INCR", "a"}}));
  CHECK(one.asked_at() == FakeClock::start() + 1500ms);

  World plain;
  plain.next({{":1\r\n", 1700ms, 1}}).ready = 1s;
  Connection other(plain.settings, plain.server.dial());
  REQUIRE(plain.run(other, {{"INCR", "a"}}));
  CHECK(other.asked_at() == FakeClock::start() + 1s);
}

TEST_CASE("a reply that drips in is one reply, until the time is over") {
  World world;
  world.next(dripped("$5\r\nhello\r\n", 100ms));
  Connection one(world.settings, world.server.dial());
  auto replies = world.run(one, {{"GET", "a"}});
  REQUIRE(replies);
  CHECK(replies->at(0).text == "hello");
  CHECK(world.clock.since_start() == 1100ms);

  World slow;
  slow.next(dripped("$5\r\nhello\r\n", 1s));
  const Error error = slow.fails();
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(says(error, "did not answer in time"));
  CHECK(slow.clock.since_start() == 5s);
}

TEST_CASE("a lost subscription is not opened again behind its owner's back") {
  World world;
  world.next({{"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"}}).ends = true;
  world.next({{"*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:1\r\n"}});
  Connection one(world.settings, world.server.dial());
  REQUIRE(world.run(one, {{"SUBSCRIBE", "c"}}));
  CHECK_FALSE(world.run(one, {{"SUBSCRIBE", "d"}}));
  CHECK(world.server.dialled == 1);
}

TEST_CASE("a pushed message is not taken for an answer, and is not lost") {
  World world;
  const std::string message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n";
  world.next(
      {{"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", 0s, 1},
       {message + "*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:2\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\ne\r\n:3\r\n", 0s, 2}});
  Connection one(world.settings, world.server.dial());
  REQUIRE(world.run(one, {{"SUBSCRIBE", "c"}}));
  auto replies = world.run(one, {{"SUBSCRIBE", "d", "e"}});
  REQUIRE(replies);
  REQUIRE(replies->size() == 2);
  CHECK(replies->at(1).elements.at(1).text == "e");
  CHECK(one.outstanding() == 0);
  auto pushed = one.next_reply();
  REQUIRE(pushed);
  CHECK(pushed->elements.at(0).text == "message");
}

TEST_CASE("an answer that nobody asked for ends the connection") {
  World world;
  world.next({{"+OK\r\n+WHAT\r\n"}});
  Connection one(world.settings, world.server.dial());
  auto replies = world.run(one, {{"PING"}});
  CHECK(replies);  // the answer itself counts
  CHECK_FALSE(one.advance(world.clock.now()));
  CHECK(one.is_closed());
}

TEST_CASE("what is not wanted any more ends soon") {
  World world;
  world.next({{"+OK\r\n", 1s}, {"+OK\r\n", 1200ms}});
  StopAt stop(world.clock, 1s);
  Connection one(world.settings, world.server.dial());
  SUBCASE("but not before an answer that has come") { CHECK(world.run(one, {{"PING"}}, &stop)); }
  SUBCASE("but not before an answer under way had its time: a new connection may cost more") {
    CHECK(world.run(one, {{"PING"}, {"PING"}}, &stop));
    CHECK_FALSE(one.is_closed());
    CHECK(world.clock.since_start() == 1200ms);
  }
  SUBCASE("while a reply is waited for") {
    auto replies = world.run(one, {{"PING"}, {"PING"}, {"PING"}}, &stop);
    REQUIRE_FALSE(replies);
    CHECK(replies.error().code == ErrorCode::kCancelled);
    CHECK(one.is_closed());
    CHECK(world.clock.since_start() == 1400ms);
  }
}

TEST_CASE("a server that turns us away is heard") {
  World world;
  world.next({{"-ERR max number of clients reached\r\n"}}).ends = true;
  const Error error = world.fails();
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK(says(error, "max number of clients"));
  CHECK(error.next.starts_with("raise maxclients"));
}

}  // namespace connection_test
