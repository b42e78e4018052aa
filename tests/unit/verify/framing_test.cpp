// SPDX-License-Identifier: Apache-2.0
#include "tests/support/relay.h"

#include <doctest/doctest.h>

#include <string>

namespace verify_framing_test {

using namespace dlock;

struct Row {
  Framing framing;
  std::string message;
};
using namespace std::string_literals;

const Row kRows[] = {
    {Framing::kRedis, "+OK\r\n"},
    {Framing::kRedis, ":-12\r\n"},
    {Framing::kRedis, "$5\r\na\r\nbc\r\n"},
    {Framing::kRedis, "$-1\r\n"},
    {Framing::kRedis, "*-1\r\n"},
    {Framing::kRedis, "*0\r\n"},
    {Framing::kRedis, "*3\r\n$3\r\nSET\r\n*2\r\n:1\r\n$-1\r\n$0\r\n\r\n"},
    {Framing::kRedis, "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n"},
    {Framing::kRedis, ">2\r\n+message\r\n$1\r\nx\r\n"},
    {Framing::kFrames, "\0\0\0\3abc"s},
    {Framing::kFrames, "\0\0\0\0"s},
    {Framing::kPackets, "\3\0\0\7abc"s},
};

TEST_CASE("the relay of tests: a message is whole with its last byte, and ends where the next one begins") {
  for (const Row& row : kRows) {
    CAPTURE(row.message);
    for (std::size_t size = 1; size < row.message.size(); ++size) {
      CHECK_FALSE(message_size(row.framing, row.message.substr(0, size)));
    }
    CHECK(message_size(row.framing, row.message) == row.message.size());
    CHECK(message_size(row.framing, row.message + row.message) == row.message.size());
  }
  CHECK(message_size(Framing::kBytes, "abc") == 3);
}

}  // namespace verify_framing_test
