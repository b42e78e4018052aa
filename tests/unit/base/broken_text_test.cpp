// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/base/human_text.h"
#include "lib/base/log.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_name.h"

namespace utf8_test {

using namespace dlock;

namespace {

/// Not UTF-8, though some of them look like it.
const std::string kBroken[] = {
    "\x80",         "\xC0\xAF",     "\xC1\xBF",         "\xE0\x80\x80",     "\xE0\x9F\xBF",
    "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
    "\xFE",         "\xFF",         "\xE2\x82",         "\xF0\x9F\x98",     "\xC3"};
const std::string kWhole[] = {"a",
                              "\xC2\x80",
                              "\xDF\xBF",
                              "\xE0\xA0\x80",
                              "\xED\x9F\xBF",
                              "\xEE\x80\x80",
                              "\xF0\x90\x80\x80",
                              "\xF4\x8F\xBF\xBF"};

std::string said(const Log::Style& style, const Error& error) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd in(ends[0]);
  {
    const UniqueFd out(ends[1]);
    Log(style, out.get()).error(error);
  }
  std::string text(1 << 16, 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(in.get(), text.data(), text.size()))));
  return text;
}

}  // namespace

TEST_CASE("no overlong forms, no surrogates, nothing above U+10FFFF, nothing cut short: for everybody who decodes") {
  for (const std::string& text : kBroken) {
    CAPTURE(text);
    CHECK_FALSE(front_character(text + "x").valid);
    CHECK(front_character(text + "x").bytes == 1);
    CHECK_FALSE(LockName::parse("k" + text));
    CHECK(nlohmann::json::accept(json_quote("k" + text + "x")));
    CHECK(nlohmann::json::accept(json_quote("k" + text)));
    CHECK(nlohmann::json::accept('"' + printable(text) + '"'));
  }
  for (const std::string& text : kWhole) {
    CAPTURE(text);
    CHECK(front_character(text + "x").valid);
    CHECK(front_character(text + "x").bytes == text.size());
    CHECK(json_quote(text) == '"' + text + '"');
  }
}

TEST_CASE("a message steers no terminal and has no lines of its own, whoever wrote it; as JSON it is valid") {
  const Error error{ErrorCode::kUnavailable, "h says \033]0;title\007\xC2\x9B\xED\xA0\x80\n\rdlock: granted",
                    "look\033[2J"};
  const std::string text = said({}, error);
  CHECK(text.find('\033') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.starts_with("dlock: h says "));
  const std::string json = said({.format = Log::Format::kJson}, error);
  CHECK(nlohmann::json::accept(json));
}

TEST_CASE("a message that is too long is cut") {
  const std::string text = said({}, {ErrorCode::kUnavailable, std::string(100000, 'x')});
  CHECK(text.size() < 5000);
  CHECK(text.ends_with("x…\n"));
}

}  // namespace utf8_test
