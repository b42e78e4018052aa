// SPDX-License-Identifier: Apache-2.0
#include "lib/run/child_process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "lib/run/descendants.h"

namespace child_process_test {

using namespace dlock;

TEST_CASE("A command is found as execvp finds it, or the reason is known before anything is locked") {
  CHECK(find_program("sh", "/nowhere:/bin").path == "/bin/sh");
  CHECK(find_program("sh", nullptr).path.ends_with("/sh"));
  CHECK(find_program("/bin/sh", "").exit_status == 0);
  CHECK(find_program("no-such-command", "/bin:/usr/bin").exit_status == 127);
  CHECK(find_program("", "/bin").exit_status == 127);
  CHECK(find_program("/bin/no-such-command", "/bin").exit_status == 127);
  CHECK(find_program("/bin", "/bin").exit_status == 126);
  CHECK(find_program("/etc/passwd", "/bin").exit_status == 126);
  CHECK(find_program("passwd", "/etc").exit_status == 126);
  CHECK(find_program("/etc/passwd/x", "/bin").exit_status == 127);
}

TEST_CASE("The command's environment is ours and DLOCK_*, nothing else") {
  char path[] = "PATH=/bin";
  char stale[] = "DLOCK_KEY=old";
  char similar[] = "DLOCK_KEYED=mine";
  char outer[] = "DLOCK_DEADLINE=1";
  char* environment[] = {path, stale, similar, outer, nullptr};
  const Owner owner = Owner::random();
  const std::vector<HeldLock> held = {{*LockName::parse("k"), owner, FencingToken(7), "local:/d"}};
  const auto own = lock_variables(environment, held, std::nullopt);
  const auto made = merged_environment(environment, own);
  const auto has = [&](const std::string& entry) { return std::count(made.begin(), made.end() - 1, entry) == 1; };
  CHECK(made.size() == 9 + 1);
  CHECK(made.back() == nullptr);
  CHECK(has("PATH=/bin"));
  CHECK(has("DLOCK_KEYED=mine"));
  CHECK(has("DLOCK_KEY=k"));
  CHECK(has("DLOCK_TOKEN=7"));
  CHECK(has("DLOCK_OWNER=" + owner.text()));
  CHECK(has("DLOCK_STORE=local:/d"));
  CHECK(has("DLOCK_KEYS=k"));
  CHECK(has("DLOCK_DEADLINE="));  // a lease further out is not this one's
  CHECK(merged_environment(environment, lock_variables(environment, {}, std::nullopt)).size() ==
        4 + 1);  // unlocked: not even the stale one is touched
}

TEST_CASE("Several locks: one key a line, and the deadline in whole seconds, rather too early") {
  char* environment[] = {nullptr};
  const std::vector<HeldLock> held = {{*LockName::parse("a b"), Owner::random(), FencingToken(7), "redis://h"},
                                      {*LockName::parse("c"), Owner::random(), FencingToken(8), "redis://h"}};
  const auto own = lock_variables(environment, held, WallTime(std::chrono::microseconds(1700000000999999)));
  const auto has = [&](const std::string& entry) { return std::count(own.begin(), own.end(), entry) == 1; };
  CHECK(has("DLOCK_KEY=a b c"));
  CHECK(has("DLOCK_KEYS=a b\nc"));
  CHECK(has("DLOCK_TOKEN=7 8"));
  CHECK(has("DLOCK_DEADLINE=1700000000"));
}

TEST_CASE("We descend from our parent, not from our child") {
  CHECK(descends_from(getpid(), getppid()));
  CHECK_FALSE(descends_from(getppid(), getpid()));
}

TEST_CASE("A process whose first thread has ended lives on in the others, and can be ended") {
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);
  }
  auto stat = look_up_process(child);
  while (stat && stat->state != 'Z') stat = look_up_process(child);
  REQUIRE(stat);
  CHECK_FALSE(has_ended(*stat));
  const auto is_in = [&](const std::vector<ProcessId>& all) {
    return std::count(all.begin(), all.end(), stat->id) == 1;
  };
  CHECK(is_in(descendants_of(getpid())));
  CHECK(signal_process(stat->id, SIGKILL));
  siginfo_t end{};
  waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);
  CHECK_FALSE(is_in(descendants_of(getpid())));
  waitpid(child, nullptr, 0);
}

TEST_CASE("Children that we had before, and what descends from them, are not the command's") {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t helper = fork();
  if (helper == 0) {
    const pid_t inner = fork();
    if (inner > 0 && write(ready[1], &inner, sizeof inner) != sizeof inner) _exit(1);
    for (;;) pause();
  }
  pid_t inner = 0;
  REQUIRE(read(ready[0], &inner, sizeof inner) == sizeof inner);
  const auto others = present_children();
  REQUIRE(others.size() == 1);
  CHECK(others[0].pid == helper);
  const pid_t later = fork();
  if (later == 0) {
    for (;;) pause();
  }
  const auto pids = [](const std::vector<ProcessId>& all) {
    std::set<pid_t> found;
    for (const ProcessId& process : all) found.insert(process.pid);
    return found;
  };
  CHECK(pids(descendants_of(getpid())) == std::set<pid_t>{helper, inner, later});
  CHECK(pids(descendants_of(getpid(), others)) == std::set<pid_t>{later});
  for (const pid_t pid : {inner, helper, later}) kill(pid, SIGKILL);
  for (const pid_t pid : {helper, later}) waitpid(pid, nullptr, 0);
  for (const int fd : ready) close(fd);
  CHECK(present_children().empty());
}

TEST_CASE("A permit's slot is in DLOCK_SLOT; one of an outer command stays where there is none") {
  char outer[] = "DLOCK_SLOT=outer";
  char* environment[] = {outer, nullptr};
  HeldLock lock{*LockName::parse("k"), Owner::random(), FencingToken(7), "local:/d"};
  const auto slot_for = [&](const std::vector<HeldLock>& locks) {
    const auto own = lock_variables(environment, locks, std::nullopt);
    for (const char* entry : merged_environment(environment, own)) {
      if (entry && std::string_view(entry).starts_with("DLOCK_SLOT=")) return std::string(entry).substr(11);
    }
    return std::string("none");
  };
  CHECK(slot_for({lock}) == "outer");
  HeldLock permit = lock;
  permit.slot = "db2";
  CHECK(slot_for({permit}) == "db2");
  CHECK(slot_for({lock, permit, permit}) == "- db2 db2");
}

}  // namespace child_process_test
