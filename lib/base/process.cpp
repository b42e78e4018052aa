// SPDX-License-Identifier: Apache-2.0
#include "lib/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>

#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

template <typename Number>
bool take_number(std::string_view& text, Number& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::string read_file(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd.valid()) return text;
  char buffer[4096];
  // A read that gives much less is the last one: one call less for each of all the processes. The kernel cuts no line
  // of a list in two.
  for (ssize_t n = sizeof buffer; n > static_cast<ssize_t>(sizeof buffer / 2);) {
    n = read(fd.get(), buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

bool cgroup_is_frozen(const std::string& folder, const char* file, std::string_view said, pid_t member) {
  if (read_file(folder + file).find(said) == std::string::npos) return false;
  return ('\n' + read_file(folder + "/cgroup.procs")).find('\n' + std::to_string(member) + '\n') != std::string::npos;
}

}  // namespace

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

bool parse_stat(std::string_view text, ProcessStat& stat) {
  if (!take_number(text, stat.id.pid)) return false;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || text.size() < name_end + 3) return false;
  stat.state = text[name_end + 2];
  text.remove_prefix(name_end + 3);
  pid_t group = 0;
  if (!take_number(text, stat.parent) || !take_number(text, group) || !take_number(text, stat.session)) return false;
  long long skipped = 0;
  constexpr int kFieldsUpToThreads = 13;  // proc(5): from tty_nr (7) to nice (19)
  for (int field = 0; field < kFieldsUpToThreads; ++field) {
    if (!take_number(text, skipped)) return false;
  }
  return take_number(text, stat.threads) && take_number(text, skipped) && take_number(text, stat.id.start_time);
}

std::string read_proc(pid_t pid, const char* file) { return read_file("/proc/" + std::to_string(pid) + "/" + file); }

std::optional<ProcessStat> look_up_process(pid_t pid) {
  ProcessStat stat;
  return parse_stat(read_proc(pid, "stat"), stat) ? std::optional(stat) : std::nullopt;
}

bool has_ended(const ProcessStat& process) {
  return process.state == 'X' || (process.state == 'Z' && process.threads <= 1);
}

bool is_frozen(const ProcessStat& process) {
  if (process.state != 'S' && process.state != 'D') return false;  // as which v2 and v1 show it
  const pid_t pid = process.id.pid;
  const std::string text = read_proc(pid, "cgroup");
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view path = cut(rest, '\n');  // cgroups(7): NUMBER:CONTROLLERS:PATH, of v2 without controllers
    cut(path, ':');
    const std::string_view controllers = cut(path, ':');
    const auto folder = [&](const char* mount) { return std::string(mount).append(path); };
    if (controllers == "freezer") {
      if (cgroup_is_frozen(folder("/sys/fs/cgroup/freezer"), "/freezer.state", "FROZEN", pid)) return true;
    } else if (controllers.empty()) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        if (cgroup_is_frozen(folder(mount), "/cgroup.events", "frozen 1", pid)) return true;
      }
    }
  }
  return false;
}

bool proc_shows_us() {
  const auto self = look_up_process(getpid());
  char link[16];
  const ssize_t size = readlink("/proc/self", link, sizeof link);
  return self && size > 0 && whole_number<pid_t>(std::string_view(link, static_cast<std::size_t>(size))) == getpid();
}

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string whole(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (length <= 0 && name != nullptr && realpath(name, path) != nullptr) whole = path;
  return whole.substr(0, whole.rfind('/'));
}

std::int64_t started_ns(const ProcessId& process) {
  const long ticks = sysconf(_SC_CLK_TCK);  // a second
  return static_cast<std::int64_t>(process.start_time) * (1'000'000'000 / (ticks > 0 ? ticks : 100));
}

UniqueFd open_process(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

bool signal_process(const UniqueFd& process, int signal) {
  return syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

bool signal_process(const ProcessId& process, int signal) {
  // The pidfd pins the process that has the pid now; its start time shows whether it is still the one that was meant.
  const UniqueFd pidfd = open_process(process.pid);
  if (!pidfd.valid()) return false;
  const auto stat = look_up_process(process.pid);
  if (!stat || has_ended(*stat) || stat->id != process) {
    errno = ESRCH;
    return false;
  }
  return signal_process(pidfd, signal);
}

pid_t pid_of(const UniqueFd& process) {
  if (!process.valid()) return 0;
  const std::string info = read_file("/proc/self/fdinfo/" + std::to_string(process.get()));
  constexpr std::string_view kName = "\nPid:\t";
  const std::size_t at = info.find(kName);
  return at == std::string::npos ? 0 : leading_number<pid_t>(std::string_view(info).substr(at + kName.size()));
}

int reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool has_ended(const UniqueFd& process) {
  if (!process.valid()) return true;
  pollfd fd{process.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

}  // namespace dlock
