// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/reply.h"

#include <doctest/doctest.h>

namespace reply_test {

using namespace dlock;
using namespace dlock::redis;
using Kind = Reply::Kind;

namespace {

Reply read_whole(std::string_view bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  auto reply = reader.next();
  REQUIRE(reply);
  REQUIRE(*reply);
  return std::move(**reply);
}

Error read_error(std::string_view bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  auto reply = reader.next();
  REQUIRE_FALSE(reply);
  return reply.error();
}

}  // namespace

TEST_CASE("a command is written word by word, whatever bytes are in the words") {
  std::string out = "before";
  append_encoded(out, {"SET", std::string("a\r\n\0b", 5), ""});
  CHECK(out == std::string("before*3\r\n$3\r\nSET\r\n$5\r\na\r\n\0b\r\n$0\r\n\r\n", 36));
}

TEST_CASE("every kind of reply is read") {
  CHECK(read_whole("+OK\r\n").kind == Kind::kStatus);
  CHECK(read_whole("+OK\r\n").text == "OK");
  CHECK(read_whole("-NOAUTH no\r\n").is_error("NOAUTH"));
  CHECK(read_whole(":-42\r\n").integer == -42);
  CHECK(read_whole("$-1\r\n").is_nil());
  CHECK(read_whole("*-1\r\n").is_nil());
  CHECK(read_whole({"$3\r\na\0b\r\n", 9}).text == std::string("a\0b", 3));
  CHECK(read_whole("*0\r\n").kind == Kind::kArray);
}

TEST_CASE("arrays in arrays keep their order, with an error inside") {
  const Reply reply = read_whole("*4\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n*1\r\n*1\r\n+deep\r\n-ERR e\r\n");
  REQUIRE(reply.elements.size() == 4);
  CHECK(reply.elements[0].integer == 1);
  REQUIRE(reply.elements[1].elements.size() == 2);
  CHECK(reply.elements[1].elements[0].text == "x");
  CHECK(reply.elements[1].elements[1].is_nil());
  CHECK(reply.elements[2].elements.at(0).elements.at(0).text == "deep");
  CHECK(reply.elements[3].is_error("ERR"));
}

TEST_CASE("replies come out whole, whatever pieces they came in") {
  const std::string two = "*2\r\n$3\r\nabc\r\n:7\r\n+OK\r\n";
  ReplyReader reader;
  int whole = 0;
  for (const char byte : two) {
    reader.feed({&byte, 1});
    for (;;) {
      auto reply = reader.next();
      REQUIRE(reply);
      if (!*reply) break;
      ++whole;
      if (whole == 1) CHECK((*reply)->elements.at(1).integer == 7);
    }
  }
  CHECK(whole == 2);
}

TEST_CASE("what is no Redis server is told, and TLS on a plain connection is recognised") {
  const Error web = read_error("HTTP/1.1 400 Bad Request\r\n");
  CHECK(web.code == ErrorCode::kUnavailable);
  CHECK(web.message.find("not a Redis server") != std::string::npos);
  CHECK(web.next.find("port") != std::string::npos);
  CHECK(read_error(std::string("\x15\x03\x01\x00\x02", 5)).next.find("rediss://") != std::string::npos);
}

TEST_CASE("a reply of more than a mebibyte is given up, before it has cost much more") {
  const std::string piece(1 << 14, 'x');
  for (const char* head : {"$1000000000\r\n", "+", "-ERR ", "*3\r\n:1\r\n$1000000000\r\n"}) {
    CAPTURE(head);
    ReplyReader reader;
    reader.feed(head);
    std::size_t fed = 0;
    while (reader.next() && fed < (2 << 20)) {
      reader.feed(piece);
      fed += piece.size();
    }
    CHECK(fed <= (1 << 20) + piece.size());
  }
}

TEST_CASE("elements count, in arrays of arrays too: 65536 of them are too many for a reply, not for several") {
  const auto times = [](std::size_t count, std::string_view text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
  };
  CHECK(read_whole("*60000\r\n" + times(60000, ":1\r\n")).elements.size() == 60000);
  CHECK(read_error("*70000\r\n" + times(70000, ":1\r\n")).message.find("65536 elements") != std::string::npos);
  CHECK(read_error("*10\r\n" + times(10, "*7000\r\n" + times(7000, ":1\r\n"))).next.find("doctor") !=
        std::string::npos);
  ReplyReader reader;
  for (int i = 0; i < 4; ++i) {
    reader.feed("*30000\r\n" + times(30000, ":1\r\n"));
    auto reply = reader.next();
    REQUIRE(reply);
    REQUIRE(*reply);
  }
}

TEST_CASE("arrays that are nested without end are given up") {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "*1\r\n";
  CHECK(read_error(deep).message.find("larger than any") != std::string::npos);
}

TEST_CASE("kinds of reply that only RESP3 has are told, not taken, nor those in an array") {
  for (const std::string text : {",1.5\r\n", "#t\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", "_\r\n", "(123\r\n",
                                 ">1\r\n+a\r\n", "=5\r\ntxt:a\r\n", "|1\r\n+a\r\n:1\r\n"}) {
    CAPTURE(text);
    for (const std::string& whole : {text, "*2\r\n:1\r\n" + text}) {
      const Error error = read_error(whole);
      CHECK(error.code == ErrorCode::kUnavailable);
      CHECK(error.message.find(std::string("got \"") + text[0] + "\"") != std::string::npos);
    }
  }
  CHECK(read_whole("*2\r\n$-1\r\n*-1\r\n").elements.size() == 2);
}

TEST_CASE("a right that is missing is told from other errors, in a script too, whatever the version of Redis") {
  const auto denied = [](const char* said) { return is_denied({Kind::kError, said, 0, {}}); };
  for (const char* said :
       {"NOPERM this user has no permissions to access one of the keys used as arguments",
        "NOPERM No permissions to access a key", "NOAUTH Authentication required.", "WRONGPASS invalid password",
        "ERR The user executing the script can't run this command or subcommand script: beef, on @user_script:1.",
        "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
        "ERR The user executing the script can't publish to the channel mentioned in the command",
        "@user_script: 1: The user executing the script can't run this command or subcommand",
        "ERR ACL failure in script: User u has no permissions to run the 'set' command script: beef, on "
        "@user_script:1.",
        "ERR ACL failure in script: No permissions to access a key",
        "ERR ACL failure in script: No permissions to access a channel"}) {
    CAPTURE(said);
    CHECK(denied(said));
  }
  for (const char* said : {"ERR This Redis command is not allowed from script", "NOPERMS", "OOM command not allowed",
                           "ERR hash value is not an integer script: beef, on @user_script:1."}) {
    CAPTURE(said);
    CHECK_FALSE(denied(said));
  }
  CHECK_FALSE(is_denied({Kind::kStatus, "NOPERM", 0, {}}));
}

TEST_CASE("an array that is announced and not sent costs nothing") {
  ReplyReader reader;
  reader.feed("*2000000000\r\n:1\r\n");
  auto reply = reader.next();
  REQUIRE(reply);
  CHECK_FALSE(*reply);
}

}  // namespace reply_test
