// SPDX-License-Identifier: Apache-2.0
#include "lib/config/duration_text.h"

#include <doctest/doctest.h>

#include <string>

namespace duration_text_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("durations are read exactly, whatever their spelling") {
  struct Row {
    const char* text;
    Duration expected;
  };
  const Row rows[] = {
      {"10", 10s},
      {"0", 0s},
      {"0.5", 500ms},
      {".5", 500ms},
      {"500ms", 500ms},
      {"10s", 10s},
      {"1m30s", 90s},
      {"2h", 2h},
      {"1d", 24h},
      {"1d2h3m4s5ms", 24h + 2h + 3min + 4s + 5ms},
      {"5min", 5min},
      {"1.5h", 90min},
      {"1.5m10s", 100s},
      {"0.000000001", 1ns},
      {"0.0000000001", 0ns},  // finer than a nanosecond: cut off
      {"0.3333333333333333333333333333", 333333333ns},
      {"0.1", 100ms},  // no binary fraction anywhere
      {"0.7ms", 700us},
      {"1.001", 1001ms},
      {"000000000000000000000000000000010", 10s},
      {"36500d", kLongestDuration},
      {"3153600000", kLongestDuration},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto parsed = parse_duration(row.text);
    REQUIRE(parsed);
    CHECK((*parsed).count() == row.expected.count());
  }
}

TEST_CASE("what is no duration is refused with its reason and an example") {
  struct Row {
    const char* text;
    const char* reason;
  };
  const Row rows[] = {
      {"", "empty"},
      {"-1", "negative"},
      {"-0.5s", "negative"},
      {"+1", "number is missing"},
      {" 1", "number is missing"},
      {"1 ", "no unit"},
      {"1 s", "no unit"},
      {"s", "number is missing"},
      {"1.", "digit is missing"},
      {".", "digit is missing"},
      {"1.s", "digit is missing"},
      {"1.5.2s", "no unit"},
      {"10S", "unknown unit 'S'"},
      {"1w", "unknown unit 'w'"},
      {"10us", "unknown unit 'us'"},
      {"1e3", "unknown unit 'e'"},
      {"0x10", "unknown unit 'x'"},
      {"inf", "number is missing"},
      {"nan", "number is missing"},
      {"forever", "number is missing"},
      {"30s1m", "ordered from large to small"},
      {"1m1m", "ordered from large to small"},
      {"1m1min", "ordered from large to small"},
      {"1m30", "no unit"},
      {"30 1m", "no unit"},
      {"1,5", "no unit"},
      {"36501d", "100 years"},
      {"36500d1ms", "100 years"},
      {"3153600000.5", "100 years"},
      {"99999999999999999999999999", "100 years"},
      {"9223372036854775807", "100 years"},
      {"9223372036854775808ms", "100 years"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto parsed = parse_duration(row.text);
    REQUIRE(!parsed);
    CHECK(parsed.error().code == ErrorCode::kInvalid);
    CAPTURE(parsed.error().message);
    CHECK(parsed.error().message.find(row.reason) != std::string::npos);
    CHECK(parsed.error().next.find("1m30s") != std::string::npos);
  }
}

TEST_CASE("an endless word is not repeated endlessly in the message") {
  const auto parsed = parse_duration(std::string(100000, 'x'));
  REQUIRE(!parsed);
  CHECK(parsed.error().message.size() < 200);
}

TEST_CASE("a spelled duration reads back as the same one") {
  for (const Duration duration :
       {Duration(0), Duration(1), Duration(999999), Duration(1ms), Duration(500ms), Duration(1s), Duration(90s),
        Duration(24h + 1ms), Duration(3333ms), kLongestDuration}) {
    const std::string text = spell_duration(duration);
    CAPTURE(text);
    const auto back = parse_duration(text);
    REQUIRE(back);
    CHECK((*back).count() == duration.count());
  }
  CHECK(spell_duration(90s) == "1m30s");
  CHECK(spell_duration(3333ms) == "3s333ms");
  CHECK(spell_duration(3333ms + 333us) == "3s333ms");
}

}  // namespace duration_text_test
