// SPDX-License-Identifier: Apache-2.0
#include "lib/run/command_guard.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/process.h"
#include "lib/run/child_process.h"

namespace command_guard_test {

using namespace dlock;
using namespace std::chrono_literals;

/// Whether it comes true within `limit`.
bool eventually(const std::function<bool()>& true_now, Duration limit = 20s) {
  SystemClock clock;
  const TimePoint end = clock.now() + limit;
  while (!true_now()) {
    if (clock.now() >= end) return false;
    clock.sleep_until(clock.now() + 100us);
  }
  return true;
}

int unread(int socket) {
  int bytes = 0;
  REQUIRE(ioctl(socket, FIONREAD, &bytes) == 0);
  return bytes;
}

/// Stops the command again and again, until there is no room for a report of that.
void fill_with_reports(int reports, pid_t command) {
  bool heard = true;
  while (heard) {
    const int before = unread(reports);
    kill(command, SIGSTOP);
    heard = eventually([&] { return unread(reports) > before; }, 300ms);
    kill(command, SIGCONT);
  }
  REQUIRE(unread(reports) > 100);
}

/// A guard of a command that does this.
Result<CommandGuard> guard_of(const std::function<void()>& command) {
  const auto spawn = [&]() -> Spawned {
    const pid_t pid = fork();
    if (pid != 0) return {pid, 0};
    command();
    _exit(7);
  };
  return CommandGuard::start({}, spawn, [](const GuardHandles&) {});
}

TEST_CASE("How the command ended is told by a guard that is gone, and had not read what it was told") {
  auto guard = guard_of([] {});
  REQUIRE(guard);
  REQUIRE(guard->spawned().failure == 0);
  siginfo_t end{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(guard->pid()), &end, WEXITED | WNOWAIT) == 0);
  const auto status = guard->wait_status();
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 7);
  CHECK_FALSE(guard->wait_status());
  guard->end();
}

TEST_CASE("How the command ended is told to a supervisor that has read nothing for long") {
  auto guard = guard_of([] {
    for (;;) pause();
  });
  REQUIRE(guard);
  const pid_t command = guard->spawned().pid;
  fill_with_reports(guard->reports(), command);
  kill(command, SIGKILL);
  REQUIRE(eventually([&] { return !look_up_process(command); }));
  std::optional<int> last;
  REQUIRE(eventually([&] {
    while (const auto status = guard->wait_status()) last = status;
    const auto process = look_up_process(guard->pid());
    return !process || has_ended(*process);
  }));
  while (const auto status = guard->wait_status()) last = status;
  REQUIRE(last);
  CHECK(WIFSIGNALED(*last));
  guard->end();
}

TEST_CASE("A signal reaches the command while its guard does not run") {
  auto guard = guard_of([] {
    signal(SIGTERM, SIG_DFL);  // not as the suite takes it
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (;;) pause();
  });
  REQUIRE(guard);
  const auto in_state = [](pid_t pid, char state) {
    const auto process = look_up_process(pid);
    return process && process->state == state;
  };
  kill(guard->pid(), SIGSTOP);
  REQUIRE(eventually([&] { return in_state(guard->pid(), 'T'); }));
  guard->signal(SIGTERM);
  CHECK(eventually([&] { return in_state(guard->spawned().pid, 'Z'); }));
  kill(guard->pid(), SIGCONT);
  std::optional<int> status;
  REQUIRE(eventually([&] { return (status = guard->wait_status()).has_value(); }));
  CHECK(WIFSIGNALED(*status));
  guard->end();
}

TEST_CASE("Nothing is started before the keepers have been told, and they hear farewell where nothing can be") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto has_run = [&] {
    pollfd ran{ends[0], POLLIN, 0};
    return poll(&ran, 1, 0) == 1;
  };
  const auto spawn = [&]() -> Spawned {
    CHECK(write(ends[1], "r", 1) == 1);
    return {-1, ENOEXEC};
  };
  auto guard = CommandGuard::start({}, spawn, [&](const GuardHandles& handles) {
    CHECK(handles.process >= 0);
    SystemClock clock;
    clock.sleep_until(clock.now() + 50ms);
    CHECK_FALSE(has_run());
  });
  REQUIRE(guard);
  CHECK(has_run());
  CHECK(guard->spawned().failure == ENOEXEC);
  pollfd word{guard->handles().farewell, POLLIN, 0};
  CHECK(poll(&word, 1, 20000) == 1);
  guard->end();
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("A guard says that nothing is left, unless it was killed") {
  for (const bool killed : {false, true}) {
    CAPTURE(killed);
    auto guard = guard_of([&] {
      if (killed) pause();
    });
    REQUIRE(guard);
    if (killed) kill(guard->pid(), SIGKILL);
    pollfd end{guard->handles().process, POLLIN, 0};
    REQUIRE(poll(&end, 1, 20000) == 1);
    pollfd word{guard->handles().farewell, POLLIN, 0};
    CHECK(poll(&word, 1, 0) == (killed ? 0 : 1));
    if (killed) kill(guard->spawned().pid, SIGKILL);  // this one has no PR_SET_PDEATHSIG
    guard->end();
  }
}

TEST_CASE("A command whose guard was killed before it told how the command ended has ended") {
  char name[] = "sleep", seconds[] = "100";
  char* environment[] = {nullptr};
  const Log log({.quiet = true});
  ChildProcess command({find_program(name, nullptr), {name, seconds, nullptr}, environment, {}, log});
  UniqueFd guard;
  const auto tell = [&](const GuardHandles& handles) { guard = UniqueFd(dup(handles.process)); };
  REQUIRE(std::holds_alternative<CommandStarted>(command.start({{}, std::nullopt, {}, {getppid()}, tell})));
  std::vector<pollfd> fds;
  command.add_interest(fds);
  REQUIRE(fds.size() == 1);
  fill_with_reports(fds[0].fd, command.pid());
  const auto process = look_up_process(command.pid());
  REQUIRE(process);
  kill(command.pid(), SIGKILL);
  REQUIRE(eventually([&] { return !look_up_process(command.pid()); }));
  kill(process->parent, SIGKILL);
  REQUIRE(eventually([&] { return has_ended(guard); }));  // reading makes room for the report
  std::optional<CommandEnded> end;
  REQUIRE(eventually([&] { return (end = command.ended()).has_value(); }));
  CHECK(end->wait_status == SIGKILL);
  CHECK(end->guard_killed);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace command_guard_test
