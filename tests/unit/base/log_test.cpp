// SPDX-License-Identifier: Apache-2.0
#include "lib/base/log.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "lib/base/unique_fd.h"

namespace log_test {

using namespace dlock;

std::string said_of(const Error& error) {
  const UniqueFd err(memfd_create("stderr", MFD_CLOEXEC));
  Log(Log::Style{}, err.get()).error(error);
  std::string said(4096, '\0');
  const ssize_t n = pread(err.get(), said.data(), said.size(), 0);
  REQUIRE(n >= 0);
  said.resize(static_cast<std::size_t>(n));
  return said;
}

TEST_CASE("An advice too long for a line has one for each of its parts, and no command of it is split") {
  const std::string longer = "so that this advice is longer than a line of a terminal of 80 columns is wide";
  struct {
    const char* what;
    std::string first, second;
  } const rows[] = {
      {"plain words", "wait for it", longer},
      {"a semicolon that a shell has quoted", "run it again: dlock run k -- sh -c 'a; b'", longer},
      {"a quote within quotes", R"(run it again: dlock run k -- sh -c 'echo '\''a; b'\'' > c')", longer},
      {"a line feed that a shell has quoted", R"(run it again: dlock run k -- $'a\nb; c')", longer},
      {"a value of an option", "run it again: dlock run --key='a; b' -- c", longer},
      {"an apostrophe", "the holder's lease has ended", longer},
      {"an apostrophe after a letter, and a command", "it's free: dlock run 'a; b' -- c", longer},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    CHECK(said_of({ErrorCode::kBusy, "no", row.first + "; " + row.second}) ==
          "dlock: no\n  " + row.first + "\n  " + row.second + "\n");
  }
  CHECK(said_of({ErrorCode::kBusy, "no", "a; b"}) == "dlock: no\n  a; b\n");
  CHECK(said_of({ErrorCode::kBusy, "no", ""}) == "dlock: no\n");
}

}  // namespace log_test
