// SPDX-License-Identifier: Apache-2.0
// watched FILE COMMAND...: runs the command, then writes to FILE how it ended, as its parent sees it: "exit 7" or
// "signal 15". FILE.pid has the id of the command meanwhile. A shell cannot tell the two apart: both are 143 to it. For
// tests.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream(path + ".part") << text << '\n';
  std::filesystem::rename(path + ".part", path);
}

}  // namespace

int main(int, char** argv) {
  const std::string name = argv[1];
  pid_t pid = 0;
  if (posix_spawnp(&pid, argv[2], nullptr, nullptr, argv + 2, environ) != 0) {
    std::perror(argv[2]);
    return 127;
  }
  write(name + ".pid", std::to_string(pid));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  write(name, WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                                : "signal " + std::to_string(WTERMSIG(status)));
}
