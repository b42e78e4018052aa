// SPDX-License-Identifier: Apache-2.0
// fork_chain FILE: a line of short-lived processes without variables, each of which starts the next one and ends. Their
// numbers alternate between low and high ones, so that a look at /proc, which goes upwards, finds one of them only by
// chance. Adds a byte to FILE now and then. Deaf to TERM. Needs the right to choose the number of the next process, so
// a pid namespace of its own. For tests.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

int main(int, char** argv) {
  constexpr int kLinks = 40'000;  // no test lasts that long
  signal(SIGTERM, SIG_IGN);
  const int beats = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  clearenv();
  for (int link = 0; link < kLinks; ++link) {
    const int next = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
    const std::string number = std::to_string(link % 2 == 0 ? 30'000 : 1'000);
    if (next < 0 || write(next, number.data(), number.size()) < 0) return 1;
    close(next);
    if (link % 20 == 0 && write(beats, ".", 1) < 0) return 1;
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) _exit(0);
  }
}
