// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/lock_dir.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/acquisition.h"

namespace dlock::local::lock_dir_test {

TEST_CASE("the file name of a key is the FNV-1a hash of 128 bits") {
  // Published test values of FNV-1a.
  CHECK(hashed_name("") == "6c62272e07bb014262b821756295c58d");
  CHECK(hashed_name("a") == "d228cb696f1a8caf78912b704e4a8964");
  CHECK(hashed_name("foobar") == "343e1662793c64bf6f0d3597ba446f18");
}

TEST_CASE("keys that differ only in case or in slashes have different files") {
  CHECK(hashed_name("a/b") != hashed_name("a/B"));
  CHECK(hashed_name("a/b") != hashed_name("a//b"));
}

TEST_CASE("a name with a suffix is listed, in order, and others are not") {
  const testing::TemporaryDirectory directory;
  const auto dir = LockDir::open(directory.path(), {.named = true});
  REQUIRE(dir);
  for (const char* leaf : {"b.lock", "a.lock", "c.other"}) REQUIRE(dir->open_file(leaf, true));
  const auto names = dir->list(".lock");
  REQUIRE(names);
  CHECK(*names == std::vector<std::string>{"a.lock", "b.lock"});
}

TEST_CASE("opening a file that does not exist, without making it, is no error") {
  const testing::TemporaryDirectory directory;
  const auto dir = LockDir::open(directory.path(), {.named = true});
  REQUIRE(dir);
  const auto file = dir->open_file("none", false);
  REQUIRE(file);
  CHECK_FALSE(file->valid());
  CHECK(dir->list("")->size() == 2);  // "." and ".."
}

}  // namespace dlock::local::lock_dir_test
