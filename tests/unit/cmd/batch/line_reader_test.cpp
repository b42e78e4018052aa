// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cmd/batch/batch.h"
#include "lib/base/unique_fd.h"

namespace line_reader_test {

using namespace dlock;

namespace {

using Kind = LineReader::Line::Kind;

/// What a reader gives of what is written piece by piece: "1=text", "2>" for a line that is too long.
std::string lines_of(const std::vector<std::string>& pieces) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  LineReader reader(in.get());
  std::string all;
  const auto drain = [&] {
    REQUIRE(reader.fill());
    while (const auto line = reader.next()) {
      all += std::to_string(line->number);
      all += line->kind == Kind::kWhole ? "=" : ">";
      all.append(line->text).append("|");
    }
  };
  for (const std::string& piece : pieces) {
    REQUIRE(write(out.get(), piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
    drain();
    CHECK_FALSE(reader.is_over());
  }
  out.reset();
  drain();
  CHECK(reader.is_over());
  return all;
}

}  // namespace

TEST_CASE("batch: lines are found however they come in") {
  CHECK(lines_of({}) == "");
  CHECK(lines_of({"a\nb", "c\n", "\nd\n"}) == "1=a|2=bc|3=|4=d|");
  CHECK(lines_of({"a\n", "b"}) == "1=a|2=b|");
  CHECK(lines_of({"a\r", "\nb\r\n\r\nc\rd\n", "e\r"}) == "1=a|2=b|3=|4=c\rd|5=e|");
}

TEST_CASE("batch: a line that is too long is left out, and the next one is found") {
  const std::string longest(LineReader::kLongest, 'x');
  CHECK(lines_of({longest + "\na\n"}) == "1=" + longest + "|2=a|");
  CHECK(lines_of({longest + "x\na\n"}) == "1>|2=a|");
  CHECK(lines_of({longest, longest, "x\na\n"}) == "1>|2=a|");
  CHECK(lines_of({longest, longest}) == "1>|");
  CHECK(lines_of({longest + "x"}) == "1>|");
}

}  // namespace line_reader_test
