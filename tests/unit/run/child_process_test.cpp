// SPDX-License-Identifier: Apache-2.0
#include "lib/run/child_process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

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
  char similar[] = "DLOCK_KEYS=mine";
  char* environment[] = {path, stale, similar, nullptr};
  const Owner owner = Owner::random();
  const auto own = lock_variables(environment, {{*LockName::parse("k"), owner, FencingToken(7), "local:/d"}});
  const auto made = merged_environment(environment, own);
  const auto has = [&](const std::string& entry) { return std::count(made.begin(), made.end() - 1, entry) == 1; };
  CHECK(made.size() == 7 + 1);
  CHECK(made.back() == nullptr);
  CHECK(has("PATH=/bin"));
  CHECK(has("DLOCK_KEYS=mine"));
  CHECK(has("DLOCK_KEY=k"));
  CHECK(has("DLOCK_TOKEN=7"));
  CHECK(has("DLOCK_OWNER=" + owner.text()));
  CHECK(has("DLOCK_STORE=local:/d"));
  CHECK(merged_environment(environment, lock_variables(environment, {})).size() ==
        3 + 1);  // unlocked: not even the stale one is touched
}

TEST_CASE("We descend from our parent, not from our child") {
  CHECK(descends_from(getpid(), getppid()));
  CHECK_FALSE(descends_from(getppid(), getpid()));
}

}  // namespace child_process_test
