// SPDX-License-Identifier: Apache-2.0
#include "lib/base/mkdir_for_owner.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

namespace mkdir_for_owner_test {

using namespace dlock;

TEST_CASE("A directory that is made for its owner is the owner's under every umask, which stays as it was") {
  struct {
    mode_t umask, asked, made;
  } const rows[] = {{0, 0700, 0700}, {077, 0700, 0700}, {0777, 0700, 0700}, {022, 0777, 0755}, {0777, 0755, 0700}};
  char folder[] = "/tmp/dlock-unit-XXXXXX";
  REQUIRE(mkdtemp(folder));
  const std::string path = std::string(folder) + "/made";
  for (const auto& row : rows) {
    CAPTURE(row.umask);
    CAPTURE(row.asked);
    const mode_t before = umask(row.umask);
    const int made = mkdir_for_owner(path, row.asked);
    CHECK(umask(before) == row.umask);
    REQUIRE(made == 0);
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == row.made);
    CHECK(rmdir(path.c_str()) == 0);
  }
  CHECK(rmdir(folder) == 0);
}

}  // namespace mkdir_for_owner_test
