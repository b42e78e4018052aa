// SPDX-License-Identifier: Apache-2.0
#include "lib/run/command_guard.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command_guard_test {

using namespace dlock;

/// A guard of a command that ends with `status` at once.
Result<CommandGuard> guard_of_exit(int status) {
  return CommandGuard::start({}, [&]() -> Spawned {
    const pid_t pid = fork();
    if (pid == 0) _exit(status);
    return {pid, 0};
  });
}

TEST_CASE("How the command ended is told by a guard that is gone, and had not read what it was told") {
  auto guard = guard_of_exit(7);
  REQUIRE(guard);
  REQUIRE(guard->spawned().failure == 0);
  guard->keepers_know();
  siginfo_t end{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(guard->pid()), &end, WEXITED | WNOWAIT) == 0);
  const auto status = guard->wait_status();
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 7);
  CHECK_FALSE(guard->wait_status());
  guard->end();
}

}  // namespace command_guard_test
