// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/workers.h"

#include <error.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/process.h"
#include "lib/base/text.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTickEvery = 10ms;

std::string value_of(const char* variable) {
  const char* value = getenv(variable);
  return value && *value ? value : "-";
}

}  // namespace

void die(const std::string& what, int errnum) {
  error(71, errnum, "%s", what.c_str());
  std::abort();  // it has not come back
}

Workshop::Workshop() {
  const char* place = getenv("TMPDIR");
  std::string path = std::string(place ? place : "/tmp") + "/verify.XXXXXX";
  if (!mkdtemp(path.data())) die("cannot make " + path, errno);
  history_path_ = path + "/history";
  history_ = UniqueFd(open(history_path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  std::vector<std::string> ours;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view rest = *entry;
    const std::string_view name = cut(rest, '=');
    if (name.starts_with("DLOCK_") || name.starts_with("XDG_")) ours.emplace_back(name);
  }
  for (const std::string& name : ours) {
    if (name != "DLOCK_BACKEND" && name != "DLOCK_PASSWORD") unsetenv(name.c_str());
  }
  setenv("HOME", path.c_str(), 1);
  signal(SIGXFSZ, SIG_IGN);  // the write says it
}

void Workshop::note(const Act& act) const {
  if (!write_all(history_.get(), act_line(act))) die("cannot write " + history_path_, errno);
}

StartedProcess Workshop::start(std::vector<std::string> words) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) die("cannot make a pipe", errno);
  StartedProcess started{.pid = 0, .process = {}, .said = UniqueFd(ends[0])};
  const UniqueFd theirs(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  words.insert(words.begin(), "dlock");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  started.pid = fork();
  if (started.pid < 0) die("cannot start dlock", errno);
  if (started.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGXFSZ, SIG_DFL);
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(theirs.get(), STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    if (getppid() == parent) execvp("dlock", arguments.data());
    _exit(127);
  }
  started.process = open_process(started.pid);
  return started;
}

std::pair<int, std::string> Workshop::ask(std::vector<std::string> words) const {
  const StartedProcess started = start(std::move(words));
  fcntl(started.said.get(), F_SETFL, 0);
  const std::string said = read_to_end(started.said.get());
  return {reap(started.pid), last_message(said)};
}

std::string last_message(const std::string& log) {
  constexpr std::string_view kBefore = "\"message\":\"";
  const std::size_t at = log.rfind(kBefore);
  if (at == std::string::npos) return log;
  const std::string rest = log.substr(at + kBefore.size());
  return rest.substr(0, std::min(rest.find("\",\""), rest.find("\"}")));
}

bool says_that_it_waits(std::string_view said, bool in_line) {
  if (!in_line) return said.find("\"event\":\"waiting\"") != std::string_view::npos;
  constexpr std::string_view kInLine = " in line";  // "next in line", "3rd in line"; "3 in line" are others
  for (std::size_t at = said.find(kInLine); at != std::string_view::npos; at = said.find(kInLine, at + 1)) {
    if (at > 0 && said[at - 1] >= 'a' && said[at - 1] <= 'z') return true;
  }
  return false;
}

RunFamily family_of(pid_t supervisor) {
  RunFamily family;
  for (const ProcessId& process : descendants_of(supervisor)) {  // the nearest first
    const bool keeper = read_proc(process.pid, "cmdline").find(std::string_view("\0--keeper", 9)) != std::string::npos;
    const bool guard = read_proc(process.pid, "comm") == "dlock.guard\n";
    if (keeper) family.keeper = process.pid;
    else if (!guard && family.command == 0) family.command = process.pid;
  }
  return family;
}

void section(const char* file, const char* name, Duration hold, bool stubborn) {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  if (stubborn) sigprocmask(SIG_BLOCK, &term, nullptr);
  const UniqueFd history(open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  SystemClock clock;
  const auto write = [&](Act::What what, std::string text = {}) {
    if (!write_all(history.get(), act_line({clock.now(), name, what, std::move(text)}))) die(file, errno);
  };
  const TimePoint end = clock.now() + hold;
  write(Act::What::kBegin, value_of("DLOCK_TOKEN") + ' ' + value_of("DLOCK_SLOT"));
  while (clock.now() < end) {
    const timespec rest{.tv_sec = 0, .tv_nsec = std::min(end - clock.now(), kTickEvery).count()};
    const bool asked = sigtimedwait(&term, nullptr, &rest) == SIGTERM;  // which only a blocked one lets it hear
    if (clock.now() < end) write(asked ? Act::What::kTerm : Act::What::kTick);
  }
  write(Act::What::kEnd);
}

}  // namespace dlock
