// SPDX-License-Identifier: Apache-2.0
#include "lib/run/descendants.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <optional>

#include "lib/base/text.h"

namespace dlock {
namespace {

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto stat = look_up_process(pid);
  return stat && !has_ended(*stat) ? stat : std::nullopt;
}

/// To look needs two descriptors, and those that we inherited may be all that our soft limit allows.
void allow_more_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// None where /proc does not show us: what it says then is about others.
std::vector<ProcessStat> living_processes() {
  std::vector<ProcessStat> all;
  allow_more_files();
  DIR* proc = proc_shows_us() ? opendir("/proc") : nullptr;
  if (!proc) return all;
  while (const dirent* entry = readdir(proc)) {
    const auto pid = whole_number<pid_t>(entry->d_name);
    if (!pid) continue;
    if (const auto stat = read_stat(*pid)) all.push_back(*stat);
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
  return whole_number<std::uint64_t>(text.substr(0, text.find_first_of(" \t\n")));
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

}  // namespace

bool started_under(pid_t pid, const std::string& owner) {
  if (owner.empty()) return false;
  const std::string environment = read_proc(pid, "environ");
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::string_view entry = cut(rest, '\0');
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
  take_if([&](const ProcessStat& process) { return std::find(roots.begin(), roots.end(), process.id) != roots.end(); });
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

std::vector<ProcessId> present_children() {
  siginfo_t none{};
  std::vector<ProcessId> found;
  const bool childless = waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) != 0;
  if (childless || !proc_shows_us()) return found;
  const std::string list = read_proc(getpid(), ("task/" + std::to_string(getpid()) + "/children").c_str());
  for (std::string_view rest = list; !rest.empty();) {
    const auto pid = whole_number<pid_t>(cut(rest, ' '));
    const auto stat = pid ? look_up_process(*pid) : std::nullopt;
    if (stat) found.push_back(stat->id);
  }
  if (!list.empty()) return found;
  for (const ProcessStat& process : living_processes()) {  // a kernel without that list
    if (process.parent == getpid()) found.push_back(process.id);
  }
  return found;
}

std::vector<ProcessId> command_processes(pid_t root, const std::string& marker, const std::vector<ProcessId>& others) {
  const std::vector<ProcessStat> all = living_processes();
  std::vector<pid_t> family = {root};
  std::vector<ProcessId> found;
  for (std::size_t next = 0; next < family.size(); ++next) {
    for (const ProcessStat& process : all) {
      if (process.parent != family[next] || process.id.pid == root) continue;
      if (std::find(others.begin(), others.end(), process.id) != others.end()) continue;
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

}  // namespace dlock
