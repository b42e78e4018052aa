// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "cmd/verify/driver.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr char kClaimed = 'c';
constexpr char kDismissed = 'd';

/// The last word of who has the other end; 0: it died without one.
char last_word(int fd) {
  char word = 0;
  char byte = 0;
  ssize_t size = 0;
  while ((size = read(fd, &byte, 1)) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) word = byte;
    if (word == kDismissed) break;
  }
  return word;
}

}  // namespace

std::string clean_up(const Sandbox& sandbox, Duration ttl, bool claimed) {
  std::string left;
  if (!sandbox.end_processes()) left = "processes that do not end";
  if (!claimed) {
    sandbox.remove_directory();
    return left;
  }
  const std::string url = sandbox.url().redacted();
  (void)sandbox.ask({"stock", "drop", "--backend", url, "--yes", std::string(kVerifyPrefix) + "s"});
  for (std::uint64_t slot = 0; slot <= kVerifySlots; ++slot) {
    (void)sandbox.ask({"release", "--backend", url, "-q", "--if-held", "--slot", std::to_string(slot),
                       std::string(kVerifyPrefix) + "o"});
  }
  for (const char* key : kVerifyKeys) {
    const auto freed = sandbox.ask(
        {"wait", "--backend", url, "-q", "--wait", ms_word(long_ttl(ttl) + 10s), std::string(kVerifyPrefix) + key});
    if (freed && freed->status == 75) left += (left.empty() ? "" : ", ") + std::string(kVerifyPrefix) + key;
  }
  sandbox.remove_directory();
  return left;
}

Result<Guard> Guard::start(const Sandbox& sandbox, Duration ttl) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Guard guard;
  guard.pid_ = fork();
  if (guard.pid_ < 0) return system_error("cannot start the process that cleans up", errno);
  if (guard.pid_ > 0) {
    close(ends[0]);
    guard.pipe_ = UniqueFd(ends[1]);
    return guard;
  }
  // Deaf to what ends a job: it has to outlive it.
  close(ends[1]);
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  const char word = last_word(ends[0]);
  if (word != kDismissed) clean_up(sandbox, ttl, word == kClaimed);
  _exit(0);
}

void Guard::claim() { claimed_ = write(pipe_.get(), &kClaimed, 1) == 1; }

void Guard::dismiss() {
  if (write(pipe_.get(), &kDismissed, 1) == 1) reap(pid_);
}

}  // namespace dlock
