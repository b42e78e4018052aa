// SPDX-License-Identifier: Apache-2.0
#include "lib/base/program_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock {

Result<int> run_program(std::vector<const char*> words, const std::function<void(int fd)>& read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  words.push_back(nullptr);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, words[0], &actions, nullptr, const_cast<char* const*>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  input.reset();
  if (failure != 0) return system_error(words[0], failure);
  read(output.get());
  return reap(pid);
}

}  // namespace dlock
