// SPDX-License-Identifier: Apache-2.0
#include "lib/run/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <functional>
#include <optional>

#include "lib/base/unique_fd.h"

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

std::string read_proc(pid_t pid, const char* file) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd.valid()) return text;
  char buffer[4096];
  // A short read is the end of such a file: one call less for each of all the processes.
  for (ssize_t n = sizeof buffer; n == static_cast<ssize_t>(sizeof buffer);) {
    n = read(fd.get(), buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto stat = look_up_process(pid);
  return stat && stat->state != 'Z' && stat->state != 'X' ? stat : std::nullopt;
}

std::vector<ProcessStat> living_processes() {
  std::vector<ProcessStat> all;
  DIR* proc = opendir("/proc");
  if (!proc) return all;
  while (const dirent* entry = readdir(proc)) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (const auto stat = read_stat(pid)) all.push_back(*stat);
  }
  closedir(proc);
  return all;
}

/// The environment is NUL-separated text; it reads as empty when it is not ours to read.
bool carries(pid_t pid, const std::string& marker) {
  const std::string environment = std::string(1, '\0') + read_proc(pid, "environ");
  return environment.find(std::string(1, '\0') + marker + std::string(1, '\0')) != std::string::npos;
}

/// The number behind `name` in a text of /proc whose lines are "NAME NUMBER ...".
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t number = 0;
  return take_number(text, number) ? std::optional(number) : std::nullopt;
}

bool is_of_another_user(pid_t pid) {
  const auto user = number_after(read_proc(pid, "status"), "\nUid:");
  return geteuid() != 0 && user != geteuid();
}

/// Everybody may read the limits of everybody.
bool bears_number(const ProcessStat& process, const CommandMarks& marks) {
  if (marks.number == 0) return false;
  if (number_after(read_proc(process.id.pid, "limits"), "\nMax file locks") != marks.number) return false;
  return process.session == marks.session || !is_of_another_user(process.id.pid);
}

bool same(const ProcessId& a, const ProcessId& b) { return a.pid == b.pid && a.start_time == b.start_time; }

}  // namespace

std::optional<ProcessStat> look_up_process(pid_t pid) {
  ProcessStat stat;
  return parse_stat(read_proc(pid, "stat"), stat) ? std::optional(stat) : std::nullopt;
}

bool started_under(pid_t pid, const std::string& owner) {
  if (owner.empty()) return false;
  const std::string environment = read_proc(pid, "environ");
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const bool ours = entry.starts_with("DLOCK_OWNER=") || entry.starts_with("DLOCK_HELD=");
    if (ours && entry.find(owner) != std::string_view::npos) return true;
  }
  return false;
}

std::uint64_t make_mark(const std::string& owner) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto moment = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 61;  // far from what somebody would choose as a limit
  return kHighest | ((std::hash<std::string>()(owner) ^ moment) & (kHighest - 1));
}

void mark_this_process(std::uint64_t mark) {
  const rlimit limit{mark, RLIM_INFINITY};
  setrlimit(RLIMIT_LOCKS, &limit);
}

std::vector<ProcessId> remaining_processes(const std::vector<ProcessId>& roots, const CommandMarks& marks) {
  const std::vector<ProcessStat> all = living_processes();
  std::vector<bool> taken(all.size(), false);
  std::vector<ProcessId> found;
  const auto take_if = [&](const auto& belongs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i] || all[i].id.pid == getpid() || !belongs(all[i])) continue;
      taken[i] = true;
      found.push_back(all[i].id);
    }
  };
  take_if([&](const ProcessStat& process) {
    return std::any_of(roots.begin(), roots.end(), [&](const ProcessId& root) { return same(root, process.id); });
  });
  const auto self = look_up_process(getpid());
  const unsigned long long since = self ? self->id.start_time : 0;
  take_if([&](const ProcessStat& process) {
    if (process.id.start_time < since) return false;
    return bears_number(process, marks) || started_under(process.id.pid, marks.owner);
  });
  for (std::size_t next = 0; next < found.size(); ++next) {
    take_if([parent = found[next].pid](const ProcessStat& process) { return process.parent == parent; });
  }
  return found;
}

bool parse_stat(std::string_view text, ProcessStat& stat) {
  if (!take_number(text, stat.id.pid)) return false;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || text.size() < name_end + 3) return false;
  stat.state = text[name_end + 2];
  text.remove_prefix(name_end + 3);
  pid_t group = 0;
  if (!take_number(text, stat.parent) || !take_number(text, group) || !take_number(text, stat.session)) return false;
  constexpr int kFieldsUpToStartTime = 15;  // proc(5): from tty_nr (7) to itrealvalue (21)
  for (int field = 0; field < kFieldsUpToStartTime; ++field) {
    long long skipped = 0;
    if (!take_number(text, skipped)) return false;
  }
  return take_number(text, stat.id.start_time);
}

std::vector<ProcessId> command_processes(pid_t root, const std::string& marker) {
  const std::vector<ProcessStat> all = living_processes();
  std::vector<pid_t> family = {root};
  std::vector<ProcessId> found;
  for (std::size_t next = 0; next < family.size(); ++next) {
    for (const ProcessStat& process : all) {
      if (process.parent != family[next] || process.id.pid == root) continue;
      family.push_back(process.id.pid);
      found.push_back(process.id);
    }
  }
  if (marker.empty()) return found;
  for (const ProcessStat& process : all) {
    const bool known = std::find(family.begin(), family.end(), process.id.pid) != family.end();
    if (!known && carries(process.id.pid, marker)) found.push_back(process.id);
  }
  return found;
}

bool descends_from(pid_t pid, pid_t root) {
  for (int depth = 0; pid > 1 && depth < 4096; ++depth) {
    const auto stat = read_stat(pid);
    if (!stat) return false;
    if (stat->parent == root) return true;
    pid = stat->parent;
  }
  return false;
}

bool signal_process(const ProcessId& process, int signal) {
  // The pidfd pins whoever has the pid now; the start time then tells whether that is still the process that was meant.
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) return false;
  const auto stat = read_stat(process.pid);
  if (!stat || stat->id.start_time != process.start_time) {
    errno = ESRCH;
    return false;
  }
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

}  // namespace dlock
