// SPDX-License-Identifier: Apache-2.0
// Keys that are paths: dlock and flock(1) on the same file.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/local/machine.h"
#include "tests/support/acquisition.h"
#include "tests/support/helper_process.h"

namespace dlock::testing::local_test {
namespace {

using std::chrono::milliseconds;

/// flock(1) of Debian: holds `path` until it is told to end.
class ForeignFlock {
 public:
  explicit ForeignFlock(const std::string& path, const char* mode = "-x") : pid_(fork()) {
    if (pid_ == 0) {
      execlp("flock", "flock", mode, "-F", path.c_str(), "sleep", "600", static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ForeignFlock(const ForeignFlock&) = delete;
  ForeignFlock& operator=(const ForeignFlock&) = delete;
  ~ForeignFlock() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// What `flock -n` says about a file: 0 it could be locked, 1 it is locked.
int flock_status(const std::string& path, const char* mode = "-x") {
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("flock", "flock", "-n", mode, path.c_str(), "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

bool locked_by_foreigner(const std::string& path) {
  return eventually([&] { return flock_status(path) == 1; });
}

}  // namespace

TEST_CASE("dlocks of one path key queue first come first served behind a foreign holder") {
  Machine m;
  const std::string path = m.file("app.lock");
  ForeignFlock foreigner(path);
  REQUIRE(locked_by_foreigner(path));
  Acquisition first(*m.a, exclusive(path));
  CHECK(first.stays_quiet());
  Acquisition second(*m.b, exclusive(path));
  CHECK(second.stays_quiet());
  const auto state = m.a->inspect(name(path));
  REQUIRE(state);
  CHECK(state->holders.size() == 1);
  CHECK(state->waiters.size() == 2);
  foreigner.end();
  const FencingToken token = first.held().token;
  CHECK(second.stays_quiet());
  first.release();
  CHECK(second.held().token > token);
  second.release();
}

TEST_CASE("a directory can be a path key, and a path key has no permits") {
  Machine m;
  Acquisition holder(*m.a, exclusive(m.files.path()));
  holder.held();
  CHECK(flock_status(m.files.path()) == 1);
  holder.release();
  const auto refused = m.a->open(permits(m.file("app.lock"), 2));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("a foreign holder of a path key is not freed by force") {
  Machine m;
  const std::string path = m.file("app.lock");
  ForeignFlock foreigner(path);
  REQUIRE(locked_by_foreigner(path));
  REQUIRE(m.a->inspect(name(path)));
  const auto shown = m.a->inspect(name(path));
  REQUIRE(shown);
  REQUIRE(shown->holders.size() == 1);
  const auto freed = m.a->force_release(name(path), *shown, "");
  REQUIRE_FALSE(freed);
  CHECK(freed.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("after a force-release of a path key the next one waits until the file itself is free") {
  Machine m;
  const std::string path = m.file("app.lock");
  HelperProcess stuck(m.store, exclusive(path));
  stuck.granted();
  stuck.signal(SIGSTOP);
  Acquisition next(*m.a, exclusive(path));
  CHECK(next.stays_quiet());
  const auto shown = m.b->inspect(name(path));
  REQUIRE(shown);
  REQUIRE(m.b->force_release(name(path), *shown, ""));
  CHECK(next.stays_quiet(milliseconds(1200)));
  stuck.kill();
  next.held();
  next.release();
}

TEST_CASE("a path key cannot be left as a lease, which would keep no flock(1) out, and is held as before") {
  Machine m;
  const std::string path = m.file("app.lock");
  Acquisition holder(*m.a, exclusive(path));
  holder.held();
  const auto left = holder.session().detach({std::chrono::seconds(60), std::nullopt});
  REQUIRE_FALSE(left);
  CHECK(left.error().code == ErrorCode::kUnsupported);
  CHECK(flock_status(path) == 1);
  holder.release();
  CHECK(flock_status(path) == 0);
}

TEST_CASE("a re-entry of a path key keeps flock(1) out until the last one ends") {
  Machine m;
  const std::string path = m.file("app.lock");
  Acquisition outer(*m.a, exclusive(path));
  const HeldLock held = outer.held();
  const UniqueFd inherited(dup(outer.session().inherited_fd()));  // as the inner process has it
  LockSpec spec = exclusive(path);
  spec.ancestor = HeldClaim{held.owner, held.token, held.secret};
  Acquisition inner(*m.b, spec);
  CHECK(inner.held().reentered);
  outer.release();
  CHECK(flock_status(path) == 1);
  Acquisition stranger(*m.a, once(exclusive(path)));
  CHECK(stranger.wait_for<Refused>());
  inner.release();
}

}  // namespace dlock::testing::local_test
