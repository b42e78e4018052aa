// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/zookeeper/admin.h"
#include "lib/base/descriptor_io.h"
#include "tests/unit/zookeeper/lock_world.h"
#include "tests/unit/zookeeper/stock/stock_world.h"

namespace dlock::zookeeper::closed_folder_test {
namespace {

using namespace std::chrono_literals;

/// What a call says of the right that is missing, and on which path in the folder.
template <typename T>
void check_denied(const char* what, const Result<T>& result, const std::string& right) {
  CAPTURE(what);
  REQUIRE_FALSE(result);
  CAPTURE(result.error().message);
  CHECK(result.error().code == ErrorCode::kDenied);
  CHECK(result.error().message.find("refused: the right " + right) != std::string::npos);
}

Result<void> outcome(const std::unique_ptr<ZookeeperLock>& lock, Control& control) {
  const auto answer = lock->acquire(control);
  const Refused* refused = lock_test::refused(answer);
  return refused ? Result<void>(refused->error) : Result<void>();
}

}  // namespace

TEST_CASE("A folder that is closed to us is said to be that, with its name, whatever is asked of its locks") {
  lock_test::World w;
  const auto holder = w.lock(lock_test::spec_of());
  REQUIRE(lock_test::granted(holder->acquire(w.supervisor)));
  w.ensemble.closed = "/app";
  LockSpec spec = lock_test::spec_of();
  for (const char* recipe : lock_test::kRecipes) {
    check_denied(recipe, outcome(w.lock(spec, recipe), w.supervisor), "CREATE on /app");
  }
  LockSpec missing = spec;
  missing.name = *LockName::parse("not/there");
  check_denied("a directory that is not there", outcome(w.lock(missing), w.supervisor), "CREATE on /app");
  spec.take = false;
  check_denied("wait", outcome(w.lock(spec), w.supervisor), "READ on /app/k is missing");
  const auto url = BackendUrl::parse("zk://127.0.0.1/app");
  ZookeeperAdmin admin(*Ensemble::of(*url, w.clock, [&](const SessionSettings& s) { return w.ensemble.open(s); }),
                       Runtime{w.clock, w.log});
  check_denied("inspect", admin.inspect(spec.name), "READ on /app/k is missing");
  check_denied("inspect, all", admin.inspect_all(), "READ on /app is missing");
  check_denied("check", admin.check(spec.name, FencingToken(7)), "READ on /app/k is missing");
  check_denied("gc", admin.collect_garbage(false), "READ on /app is missing");
}

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

TEST_CASE("A folder that is closed to us is said to be that, with its name, whatever is asked of its stocks") {
  testing::World w;
  w.create(9, 1);
  w.ensemble.closed = "/shop";
  const auto stock = w.client();
  check_denied("create", stock->create(*LockName::parse("tablet"), 5, 1, Owner::random(), w.limit()),
               "CREATE on /shop/%stock is missing");
  check_denied("take", stock->take(testing::order("a", 2), 0, w.limit()), "READ on /shop/%stock/phone is missing");
  check_denied("show", stock->show(testing::kPhone, w.limit()), "READ on /shop/%stock/phone is missing");
  check_denied("drop", stock->drop(testing::kPhone, w.limit()), "READ on /shop/%stock/phone is missing");
  const std::vector<StockStep> steps{{.id = testing::id("b"), .quantity = 1}};
  const auto answers = stock->serve(testing::kPhone, steps, w.limit());
  REQUIRE(answers.size() == 1);
  check_denied("serve", answers.front(), "READ on /shop/%stock/phone is missing");
}

}  // namespace dlock::zookeeper::closed_folder_test
