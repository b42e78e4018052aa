// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>

#include "cmd/options/settings.h"
#include "cmd/show/exit_status.h"
#include "cmd/verify/schedule.h"
#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "lib/run/descendants.h"

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

bool is_kept(std::string_view entry) {
  for (const std::string_view name : {std::string_view("DLOCK_"), std::string_view("HOME="), kVerifyMark}) {
    if (entry.starts_with(name)) return false;
  }
  return true;
}

Result<void> write_secret(const std::string& path, const std::string& text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.valid() && write_all(file.get(), text + '\n')) return {};
  return system_error("cannot write " + path, errno);
}

/// Whether there is room for what will be written, on the disk and within the limits of this process.
bool takes_writing(int fd) { return write_all(fd, "\n") && ftruncate(fd, 0) == 0; }

/// A file without a name.
UniqueFd scratch_file() { return UniqueFd(memfd_create("dlock-verify", MFD_CLOEXEC)); }

bool carries(pid_t pid, std::string_view mark) {
  const std::string environment = read_proc(pid, "environ");
  std::string_view rest = environment;
  while (!rest.empty()) {
    if (cut(rest, '\0') == mark) return true;
  }
  return false;
}

template <typename Use>
void for_each_process(Use use) {
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    if (const auto pid = whole_number<pid_t>(entry->d_name)) use(*pid);
  }
  if (proc) closedir(proc);
}

constexpr Duration kTickEvery = 10ms;

std::string or_dash(std::optional<std::string> value) { return value && !value->empty() ? *value : "-"; }

sigset_t term_alone() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  return term;
}

/// Waits until `tick`. True: it was asked to end meanwhile, which only a blocked SIGTERM lets it hear.
bool is_asked_to_end(Clock& clock, TimePoint tick) {
  const sigset_t term = term_alone();
  for (TimePoint now = clock.now(); now < tick; now = clock.now()) {
    const timespec rest{.tv_sec = 0, .tv_nsec = (tick - now).count()};
    if (sigtimedwait(&term, nullptr, &rest) == SIGTERM) return true;
  }
  return false;
}

}  // namespace

std::string clean_up(const Sandbox& sandbox, Duration ttl, bool claimed) {
  std::string left;
  if (!sandbox.end_processes()) left = "processes that do not end";
  if (!claimed) {
    sandbox.remove_directory();
    return left;
  }
  (void)sandbox.ask_store({"stock", "drop", "--yes", std::string(kVerifyPrefix) + "s"});
  for (std::uint64_t slot = 0; slot <= kVerifySlots; ++slot) {
    (void)sandbox.ask_store(
        {"release", "-q", "--if-held", "--slot", std::to_string(slot), std::string(kVerifyPrefix) + "o"});
  }
  for (const char* key : kVerifyKeys) {
    const auto freed =
        sandbox.ask_store({"wait", "-q", "--wait", ms_word(long_ttl(ttl) + 10s), std::string(kVerifyPrefix) + key});
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

std::string ms_word(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()) + "ms";
}

std::string last_message(const std::string& log) {
  constexpr std::size_t kMost = 200;
  constexpr std::string_view kBefore = "\"message\":\"";
  const std::size_t at = log.rfind(kBefore);
  if (at == std::string::npos) return std::string(utf8_prefix(log, kMost));
  std::string message;
  for (std::size_t i = at + kBefore.size(); i < log.size() && log[i] != '"'; ++i) {
    if (log[i] == '\\' && (log[i + 1] == '"' || log[i + 1] == '\\')) ++i;
    message += log[i];
  }
  return std::string(utf8_prefix(message, kMost));
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

Result<Sandbox> Sandbox::make(const BackendUrl& url) {
  Sandbox sandbox;
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program);
  if (size <= 0) {
    return Error{ErrorCode::kSystem, "cannot find the processes that verify starts: /proc is missing",
                 "mount it: mount -t proc proc /proc"};
  }
  sandbox.program_.assign(program, static_cast<std::size_t>(size));

  const char* place = getenv("TMPDIR");
  std::string path = std::string(place && *place == '/' ? place : "/tmp") + "/dlock-verify.XXXXXX";
  if (!mkdtemp(path.data())) return system_error("cannot make the directory " + path, errno);
  sandbox.directory_ = path;
  sandbox.history_path_ = path + "/history";
  sandbox.history_ = UniqueFd(open(sandbox.history_path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!sandbox.history_.valid() || !takes_writing(sandbox.history_.get())) {
    const int errnum = errno;
    sandbox.remove_directory();
    return system_error("cannot write " + sandbox.history_path_, errnum);
  }

  sandbox.url_ = url;
  sandbox.url_.alias.clear();
  if (!url.password.empty() && !url.is_local()) {
    const std::string file = path + "/password";
    if (auto written = write_secret(file, url.password); !written) {
      sandbox.remove_directory();
      return written.error();
    }
    sandbox.url_.password.clear();
    sandbox.url_.params["password-file"] = file;
  }
  sandbox.mark_ = std::string(kVerifyMark) + '=' + random_hex(8);
  for (char** entry = environ; *entry; ++entry) {
    if (is_kept(*entry)) sandbox.environment_.emplace_back(*entry);
  }
  sandbox.environment_.push_back(sandbox.mark_);
  sandbox.environment_.push_back("HOME=" + path);
  return sandbox;
}

Result<void> Sandbox::note(const Act& act) const {
  if (write_all(history_.get(), act_line(act))) return {};
  return system_error("cannot write " + history_path_, errno);
}

pid_t Sandbox::spawn(const std::vector<std::string>& words, int in, int out, int err) const {
  std::vector<char*> arguments{const_cast<char*>("dlock")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (const std::string& entry : environment_) environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(in < 0 ? nothing : in, STDIN_FILENO);
  dup2(out < 0 ? nothing : out, STDOUT_FILENO);
  dup2(err < 0 ? nothing : err, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() == parent) execve(program_.c_str(), arguments.data(), environment.data());
  _exit(127);
}

Result<SandboxProcess> Sandbox::start(const std::vector<std::string>& words, int in) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  SandboxProcess started{.pid = 0, .process = {}, .said = UniqueFd(ends[0])};
  const UniqueFd theirs(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  started.pid = spawn(words, in, -1, theirs.get());
  if (started.pid < 0) return system_error("cannot start a worker", errno);
  started.process = open_process(started.pid);
  return started;
}

Result<SandboxAnswer> Sandbox::ask(const std::vector<std::string>& words) const {
  const UniqueFd out = scratch_file();
  const UniqueFd said = scratch_file();
  if (!out.valid() || !said.valid()) return system_error("cannot make a file in memory", errno);
  const pid_t pid = spawn(words, -1, out.get(), said.get());
  if (pid < 0) return system_error("cannot start dlock", errno);
  SandboxAnswer answer{.status = reap(pid), .out = {}, .said = {}};
  lseek(out.get(), 0, SEEK_SET);
  lseek(said.get(), 0, SEEK_SET);
  answer.out = read_to_end(out.get());
  answer.said = read_to_end(said.get());
  return answer;
}

Result<SandboxAnswer> Sandbox::ask_store(std::vector<std::string> words) const {
  words.insert(words.end(), {"--backend", url_.redacted()});
  return ask(words);
}

bool Sandbox::end_processes() const {
  SystemClock clock;
  const TimePoint limit = clock.now() + 5s;
  while (clock.now() < limit) {
    bool some = false;
    for_each_process([&](pid_t pid) {
      const auto seen = look_up_process(pid);
      if (!seen || has_ended(*seen) || pid == getpid() || !carries(pid, mark_)) return;
      some = signal_process(seen->id, SIGKILL) || some;
    });
    if (!some) return true;
    std::vector<pollfd> nothing;
    clock.wait(nothing, clock.now() + 5ms);
  }
  return false;
}

void Sandbox::remove_directory() const {
  for (const char* name : {"/history", "/password"}) unlink((directory_ + name).c_str());
  rmdir(directory_.c_str());
}

int section_command(const std::vector<std::string>& words, char** environment) {
  const bool stubborn = words.size() == 4 && words[3] == "stubborn";
  if (words.size() != 3 && !stubborn) return exit_status(ErrorCode::kInvalid);
  const sigset_t term = term_alone();
  if (stubborn) sigprocmask(SIG_BLOCK, &term, nullptr);
  const UniqueFd history(open(words[0].c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  SystemClock clock;
  const auto write = [&](Act::What what, std::string text = {}) {
    return write_all(history.get(), act_line({clock.now(), words[1], what, std::move(text)}));
  };
  const Environment given = read_environment(environment);
  const auto hold = parse_duration(words[2]);
  if (!hold) return exit_status(ErrorCode::kInvalid);
  const TimePoint end = clock.now() + *hold;
  if (!write(Act::What::kBegin, or_dash(given.find("DLOCK_TOKEN")) + ' ' + or_dash(given.find("DLOCK_SLOT")))) {
    return kHistoryFull;
  }
  while (clock.now() < end) {
    const bool asked = is_asked_to_end(clock, std::min(end, clock.now() + kTickEvery));
    if (clock.now() < end && !write(asked ? Act::What::kTerm : Act::What::kTick)) return kHistoryFull;
  }
  return write(Act::What::kEnd) ? 0 : kHistoryFull;
}

}  // namespace dlock
