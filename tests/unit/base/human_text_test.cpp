// SPDX-License-Identifier: Apache-2.0
#include "lib/base/human_text.h"

#include <doctest/doctest.h>

namespace human_text_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("durations are told in two units at most") {
  CHECK(human_duration(-5s) == "0 s");
  CHECK(human_duration(20us) == "less than 1 ms");
  CHECK(human_duration(350ms) == "350 ms");
  CHECK(human_duration(41999ms) == "41 s");
  CHECK(human_duration(125s) == "2 min 5 s");
  CHECK(human_duration(120s) == "2 min");
  CHECK(human_duration(3h + 20min) == "3 h 20 min");
  CHECK(human_duration(97h) == "4 d 1 h");
}

TEST_CASE("times are RFC 3339 in UTC with milliseconds, before 1970 as well") {
  CHECK(rfc3339(WallTime{}) == "1970-01-01T00:00:00.000Z");
  CHECK(rfc3339(WallTime{} - 1ms) == "1969-12-31T23:59:59.999Z");
  CHECK(rfc3339(WallTime{} + 1770091506789ms) == "2026-02-03T04:05:06.789Z");
}

TEST_CASE("printable text is cut where a character ends, if it is too long") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdefg", 6) == "abc…");
  CHECK(printable("ab\xC3\xBC\xC3\xBC\xC3\xBC", 7) == "ab\xC3\xBC…");
  CHECK(printable("\033\033\033", 6) == "\xEF\xBF\xBD…");
}

TEST_CASE("printable text has no control characters, direction marks or broken UTF-8") {
  CHECK(printable("a\033[2Jb") == "a\xEF\xBF\xBD[2Jb");
  CHECK(printable("\xC2\x9B"
                  "x\xE2\x80\xAEy") == "\xEF\xBF\xBDx\xEF\xBF\xBDy");
  CHECK(printable("gr\xC3\xBC\xC3\x9F\xE2\x82") == "gr\xC3\xBC\xC3\x9F\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("widths count columns, and cutting ends in an ellipsis") {
  CHECK(display_width("grün") == 4);
  CHECK(display_width("漢字") == 4);
  CHECK(elided("deploy", 6) == "deploy");
  CHECK(elided("deploy", 4) == "dep…");
  CHECK(elided("漢字漢字", 4) == "漢…");
  CHECK(elided("deploy", 0).empty());
}

TEST_CASE("words are quoted for the shell only where they must be") {
  CHECK(shell_word("deploy/prod") == "deploy/prod");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
  CHECK(shown_shell_word("echo 'a'\nexit \\\t\033") == "$'echo \\'a\\'\\nexit \\\\\\011\\033'");
  CHECK(shell_word("~") == "'~'");
}

TEST_CASE("permissions are written as chmod takes them, whatever kind of file has them") {
  CHECK(permissions_text(0100640) == "0640");
  CHECK(permissions_text(0042770) == "2770");
  CHECK(permissions_text(01777) == "1777");
  CHECK(permissions_text(0) == "0000");
}

}  // namespace human_text_test
