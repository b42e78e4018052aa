// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/zookeeper/admin.h"
#include "lib/base/descriptor_io.h"
#include "tests/unit/zookeeper/lock_world.h"

namespace dlock::zookeeper::closed_folder_test {

TEST_CASE("A password that was changed in its file is read again where a right is missing, by who waits, too") {
  char file[] = "/tmp/dlock-unit-XXXXXX";
  const UniqueFd password(mkstemp(file));
  REQUIRE(write_all(password.get(), "old\n"));
  lock_test::World w;
  auto url = BackendUrl::parse("zk://anna@127.0.0.1/app?password-file=" + std::string(file));
  REQUIRE(url);
  url->password = "old";
  const auto open = [&](const SessionSettings& s) { return w.ensemble.open(s); };
  ZookeeperAdmin admin(*Ensemble::of(*url, w.clock, open), Runtime{w.clock, w.log});
  const auto holder = w.lock(lock_test::spec_of());
  REQUIRE(lock_test::granted(holder->acquire(w.supervisor)));
  REQUIRE(admin.inspect(lock_test::spec_of().name));
  w.ensemble.closed = "/app";
  w.ensemble.opened_by = "anna:new";
  CHECK_FALSE(admin.inspect(lock_test::spec_of().name));
  REQUIRE(ftruncate(password.get(), 0) == 0);
  REQUIRE(lseek(password.get(), 0, SEEK_SET) == 0);
  REQUIRE(write_all(password.get(), "new\n"));
  const auto state = admin.inspect(lock_test::spec_of().name);
  REQUIRE(state);
  CHECK(state->holders.size() == 1);
  unlink(file);
}

}  // namespace dlock::zookeeper::closed_folder_test
