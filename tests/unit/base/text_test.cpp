// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"

#include <doctest/doctest.h>

namespace text_test {

using namespace dlock;

TEST_CASE("text is cut at the first separator, which goes") {
  struct Row {
    std::string_view text, front, rest;
  };
  for (const Row& row : {Row{"a b c", "a", "b c"}, Row{"ab", "ab", ""}, Row{"", "", ""}, Row{" a", "", "a"},
                         Row{"a ", "a", ""}, Row{"  ", "", " "}}) {
    CAPTURE(row.text);
    std::string_view left = row.text;
    CHECK(cut(left, ' ') == row.front);
    CHECK(left == row.rest);
  }
}

TEST_CASE("a whole number is nothing but a number, a leading one is 0 where there is none") {
  struct Row {
    std::string_view text;
    std::optional<std::int64_t> whole;
    std::int64_t leading;
  };
  for (const Row& row :
       {Row{"0", 0, 0}, Row{"42", 42, 42}, Row{"-7", -7, -7}, Row{"007", 7, 7}, Row{"", {}, 0}, Row{"-", {}, 0},
        Row{"+1", {}, 0}, Row{" 1", {}, 0}, Row{"1 ", {}, 1}, Row{"12x", {}, 12}, Row{"0x1f", {}, 0},
        Row{"9223372036854775807", INT64_MAX, INT64_MAX}, Row{"9223372036854775808", {}, 0}}) {
    CAPTURE(row.text);
    CHECK(whole_number<std::int64_t>(row.text) == row.whole);
    CHECK(leading_number<std::int64_t>(row.text) == row.leading);
  }
  CHECK_FALSE(whole_number<std::uint64_t>("-1"));
  CHECK_FALSE(whole_number<std::uint16_t>("65536"));
  CHECK(leading_number<std::uint16_t>("65536") == 0);
}

TEST_CASE("hex is two lower-case digits a byte, and read in either case") {
  struct Row {
    std::string_view bytes, digits;
  };
  for (const auto& [bytes, digits] : {Row{"", ""}, Row{"k", "6b"}, Row{std::string_view("\0\xff\x10", 3), "00ff10"}}) {
    CHECK(hex(bytes) == digits);
    CHECK(from_hex(digits) == bytes);
  }
  CHECK(from_hex("aBFf") == "\xab\xff");
  for (const char* bad : {"a", "abc", "0g", "g0", "0x", " 1", "-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(from_hex(bad));
  }
}

TEST_CASE("what is escaped by percent comes back the same; half an escape is none") {
  const std::string all = [] {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return bytes;
  }();
  const auto letters = [](unsigned char c) { return c >= 'a' && c <= 'z'; };
  CHECK(percent_unescaped(percent_escaped(all, letters)) == all);
  CHECK(percent_escaped("a/\xC3", letters) == "a%2F%C3");
  CHECK(percent_unescaped("%2f%2F+ ") == "//+ ");
  for (const char* bad : {"%", "%2", "a%", "%2g", "%g2", "%%41", "%-1", "% 1"}) {
    CAPTURE(bad);
    CHECK_FALSE(percent_unescaped(bad));
  }
}

TEST_CASE("a text is cut before the character that would not fit whole") {
  struct Row {
    std::string_view text;
    std::size_t most;
    std::string_view prefix;
  };
  for (const Row& row : {Row{"abc", 3, "abc"}, Row{"abc", 2, "ab"}, Row{"abc", 0, ""}, Row{"\xC3\xA4z", 1, ""},
                         Row{"\xC3\xA4z", 2, "\xC3\xA4"}, Row{"a\xE2\x82\xAC", 3, "a"}, Row{"\xF0\x9F\x98\x80", 3, ""},
                         Row{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"}}) {
    CAPTURE(row.text);
    CAPTURE(row.most);
    CHECK(utf8_prefix(row.text, row.most) == row.prefix);
  }
}

}  // namespace text_test
