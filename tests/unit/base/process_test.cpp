// SPDX-License-Identifier: Apache-2.0
#include "lib/base/process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace process_test {

using namespace dlock;

namespace {

/// A child that does nothing until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    for (;;) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    reap();
  }
  pid_t pid() const { return pid_; }
  void reap() { waitpid(pid_, nullptr, 0); }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("A process is read from /proc even if its name is made to mislead") {
  ProcessStat stat;
  const char* text = "77 (a) R (b) S 42 77 77 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 10 20 18446744073709551615";
  REQUIRE(parse_stat(text, stat));
  CHECK(stat.id.pid == 77);
  CHECK(stat.state == 'S');
  CHECK(stat.parent == 42);
  CHECK(stat.threads == 1);
  CHECK(stat.id.start_time == 987654);
  for (const char* bad : {"", "77", "77 (x", "77 (x)", "77 (x) S", "77 (x) S 42 1 2 3", "x (y) S 1"})
    CHECK_FALSE(parse_stat(bad, stat));
}

TEST_CASE("a child is seen with its parent and a start that is not in the future, and no more once it is reaped") {
  Child child;
  const UniqueFd pidfd = open_process(child.pid());
  REQUIRE(pidfd.valid());
  CHECK(pid_of(pidfd) == child.pid());
  CHECK_FALSE(has_ended(pidfd));
  const auto stat = look_up_process(child.pid());
  REQUIRE(stat);
  CHECK(stat->parent == getpid());
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const std::int64_t age = now.tv_sec * 1'000'000'000LL + now.tv_nsec - started_ns(stat->id);
  CHECK(age >= 0);
  CHECK(age < 60'000'000'000LL);

  CHECK_FALSE(signal_process(ProcessId{child.pid(), stat->id.start_time + 1}, SIGKILL));  // another one had this pid
  CHECK(errno == ESRCH);
  CHECK_FALSE(has_ended(pidfd));
  CHECK(signal_process(stat->id, SIGKILL));
  child.reap();
  CHECK(has_ended(pidfd));
  CHECK(pid_of(pidfd) <= 0);
  CHECK_FALSE(look_up_process(child.pid()));
  CHECK_FALSE(signal_process(stat->id, SIGKILL));
}

TEST_CASE("A list of /proc is read to its end, which the kernel gives in pieces of whole lines") {
  CHECK(read_proc(getpid(), "smaps").size() > 8192);
}

TEST_CASE("no process: no descriptor, and whoever had it has ended") {
  CHECK_FALSE(open_process(-1).valid());
  CHECK(has_ended(UniqueFd()));
  CHECK(pid_of(UniqueFd()) <= 0);
  CHECK_FALSE(look_up_process(-1));
}

TEST_CASE("Of a child that somebody else has reaped no status is made up") {
  const pid_t child = fork();
  if (child == 0) _exit(3);
  REQUIRE(child > 0);
  CHECK(reap(child) == 3);
  CHECK(reap(child) == -1);
}

}  // namespace process_test
