// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/hook.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/system_error.h"

namespace dlock {

std::optional<Error> hook_failure(const std::string& phase, int status) {
  if (status == 0) return std::nullopt;
  Error error{ErrorCode::kSystem, "hook " + phase +
                                      (status > 128 ? " was ended by signal " + std::to_string(status - 128)
                                                    : " ended with " + std::to_string(status))};
  if (status != 126 && status != 127) return error;
  return Error{ErrorCode::kMisconfigured,
               error.message + (status == 127 ? ": its command was not found" : ": its command cannot be executed"),
               "--hook is a shell command, which gets " + phase + " as its last argument"};
}

Result<void> Hook::call() {
  pid_ = fork();
  if (pid_ > 0) return {};
  if (pid_ < 0) return system_error("hook " + phase_, errno);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpgid(0, 0);                       // so that all of it can be killed
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the verdict
  execl("/bin/sh", "sh", "-c", (command_ + " \"$@\"").c_str(), "sh", phase_.c_str(), nullptr);
  _exit(127);
}

std::optional<Result<void>> Hook::reap() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
  pid_ = 0;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  auto failed = killed_ ? std::nullopt : hook_failure(phase_, code);
  return failed ? Result<void>(std::move(*failed)) : Result<void>();
}

void Hook::kill() {
  if (pid_ > 0) killed_ = ::kill(-pid_, SIGKILL) == 0;
}

}  // namespace dlock
