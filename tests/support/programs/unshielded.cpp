// SPDX-License-Identifier: Apache-2.0
// unshielded COMMAND...: becomes the command with INT and QUIT as they were before a shell put it into the background,
// and without the shell's own descriptors. For tests.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <initializer_list>

int main(int, char** argv) {
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);
  close_range(3, ~0U, 0);
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
