// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/whole_answer.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace dlock::mysql::testing::whole_answer_test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr std::string_view kDone = "\0\1\0\2\0\0\0"sv;
constexpr std::string_view kDoneWithOne = "\0\1\0\x0a\0\0\0"sv;  ///< another result follows
constexpr std::string_view kError = "\xff\x15\4#28000Access denied"sv;
constexpr std::string_view kProgress = "\xff\xff\xff\1\1\2\0\0\0\4work"sv;
constexpr std::string_view kColumn = "\3def\0\0\0\1c\1c\x0c\x3f\0\0\1\0\0\xfd\0\0\0\0\0"sv;
constexpr std::string_view kEnd = "\xfe\0\0\2\0"sv;
constexpr std::string_view kEndOfOne = "\xfe\0\0\x0a\0"sv;  ///< another result follows
constexpr std::string_view kRow =
    "\1"
    "1"sv;
constexpr std::string_view kNullRow = "\xfb"sv;

std::string packets(const std::vector<std::string_view>& bodies) {
  std::string said;
  for (const std::string_view body : bodies) {
    const std::size_t size = body.size();
    said += {static_cast<char>(size & 0xff), static_cast<char>(size >> 8U), static_cast<char>(size >> 16U), '\1'};
    said += body;
  }
  return said;
}

/// `bodies` are a whole answer, and no beginning of it is one.
void check_whole(const std::vector<std::string_view>& bodies) {
  const std::string said = packets(bodies);
  CHECK(is_whole_answer(said));
  for (std::size_t size = 0; size < said.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(is_whole_answer(std::string_view(said).substr(0, size)));
  }
}

TEST_CASE("mysql/whole answer: done, an error, and rows with their end are whole; each part of them is not") {
  for (const auto& bodies : {std::vector{kDone},
                             {kError},
                             {"\1"sv, kColumn, kEnd, kEnd},
                             {"\1"sv, kColumn, kEnd, kRow, kNullRow, kEnd},
                             {"\2"sv, kColumn, kColumn, kEnd, "\xfb\xfb"sv, kEnd},
                             {"\1"sv, kColumn, kEnd, kRow, kError}}) {
    check_whole(bodies);
  }
}

TEST_CASE("mysql/whole answer: that to a batch has an answer to each statement, up to the first error") {
  for (const auto& bodies : {std::vector{kDoneWithOne, kDone},
                             {"\1"sv, kColumn, kEnd, kRow, kEndOfOne, kDone},
                             {kDoneWithOne, "\1"sv, kColumn, kEnd, kRow, kEndOfOne, kDoneWithOne, kDone},
                             {kDoneWithOne, "\1"sv, kColumn, kEnd, kRow, kEnd},
                             {kDoneWithOne, kError},
                             {"\1"sv, kColumn, kEnd, kRow, kEndOfOne, kError}}) {
    check_whole(bodies);
  }
}

TEST_CASE("mysql/whole answer: MariaDB says that columns follow, and numbers are as long as they are") {
  CHECK(is_whole_answer(packets({"\1\1"sv, kColumn, kEnd, kRow, kEnd})));
  CHECK_FALSE(is_whole_answer(packets({"\1\0"sv, kColumn, kEnd, kRow, kEnd})));
  CHECK_FALSE(is_whole_answer(packets({"\1\1\1"sv, kColumn, kEnd, kRow, kEnd})));
  const std::string_view longer[] = {"\0\xfc\1\1\0"sv, "\0\1\xfd\1\1\1"sv, "\0\1\xfe\1\1\1\1\1\1\1\1"sv};
  for (const std::string_view numbers : longer) {
    const std::string last = std::string(numbers) + "\2\0\0\0"s;
    const std::string one = std::string(numbers) + "\x0a\0\0\0"s;
    CHECK(is_whole_answer(packets({last})));
    CHECK_FALSE(is_whole_answer(packets({one})));
    CHECK(is_whole_answer(packets({one, last})));
    CHECK_FALSE(is_whole_answer(packets({numbers})));
  }
}

TEST_CASE("mysql/whole answer: what has more behind it, or wants something, is not") {
  for (const auto& bodies : {std::vector{kProgress},
                             {kProgress, kDone},
                             {kDone, kDone},
                             {kDoneWithOne},
                             {kDoneWithOne, kProgress},
                             {"\1"sv, kColumn, kEnd, kRow, kEndOfOne},
                             {"\1"sv, kColumn, kEnd, kRow, kEnd, kDone},
                             {"\1"sv, kColumn, kEnd, kProgress},
                             {"\xfb/etc/passwd"sv}}) {
    CHECK_FALSE(is_whole_answer(packets(bodies)));
  }
}

TEST_CASE("mysql/whole answer: nor is what makes no sense") {
  for (const auto& bodies : {std::vector{""sv},
                             {"\1"sv},
                             {"\2"sv, kColumn, kEnd, kEnd},
                             {"\0"sv},
                             {"\0\xfb\0\2\0\0\0"sv},
                             {"\0\0\xff\2\0\0\0"sv},
                             {"\1"sv, kEnd, kEnd},
                             {"\1"sv, kColumn, kRow, kEnd},
                             {"\1"sv, kColumn, kEnd, "\xfe"sv},
                             {"\xfc\1\1"sv, kColumn, kEnd, kEnd},
                             {"\1"sv, kDone, kEnd, kEnd}}) {
    CHECK_FALSE(is_whole_answer(packets(bodies)));
  }
}

}  // namespace
}  // namespace dlock::mysql::testing::whole_answer_test
