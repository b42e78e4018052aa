// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/path_lock.h"

#include <doctest/doctest.h>

namespace dlock::local::path_lock_test {

TEST_CASE("users of flock(2) are found in /proc/locks by device and inode") {
  const std::string text =
      "1: FLOCK  ADVISORY  WRITE 811 fe:00:2099 0 EOF\n"
      "1: -> FLOCK  ADVISORY  WRITE 812 fe:00:2099 0 EOF\n"
      "1: -> FLOCK  ADVISORY  READ 813 fe:00:2099 0 EOF\n"
      "2: POSIX  ADVISORY  WRITE 814 fe:00:2099 0 EOF\n"
      "3: FLOCK  ADVISORY  READ 815 fe:00:20991 0 EOF\n"
      "4: OFDLCK ADVISORY  WRITE -1 fe:00:2099 4611686018427387904 4611686018427387904\n"
      "5: FLOCK  ADVISORY  READ 816 fe:00:2099 0 EOF";
  const auto users = flock_users_in(text, "fe:00:2099");
  REQUIRE(users.size() == 4);
  CHECK(users[0].pid == 811);
  CHECK(users[0].exclusive);
  CHECK_FALSE(users[0].waiting);
  CHECK(users[1].pid == 812);
  CHECK(users[1].waiting);
  CHECK(users[2].pid == 813);
  CHECK_FALSE(users[2].exclusive);
  CHECK(users[3].pid == 816);
}

TEST_CASE("lines of /proc/locks that are not understood are passed over") {
  for (const char* text : {"", "\n\n", "FLOCK", "1: FLOCK", "1: FLOCK ADVISORY WRITE x fe:00:1 0 EOF", "1: ->",
                           "1: FLOCK ADVISORY WRITE 99999999999999999999 fe:00:1 0 EOF"}) {
    CAPTURE(text);
    CHECK(flock_users_in(text, "fe:00:1").empty());
  }
}

}  // namespace dlock::local::path_lock_test
