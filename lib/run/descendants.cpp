// SPDX-License-Identifier: Apache-2.0
#include "lib/run/descendants.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "lib/base/text.h"

namespace dlock {
namespace {

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto stat = look_up_process(pid);
  return stat && !has_ended(*stat) ? stat : std::nullopt;
}

/// To look needs two descriptors, and those that we inherited may be all that our soft limit allows. It is the
/// command's, too.
class MoreFiles {
 public:
  MoreFiles() : known_(getrlimit(RLIMIT_NOFILE, &before_) == 0) {
    const rlimit most{before_.rlim_max, before_.rlim_max};
    if (known_) setrlimit(RLIMIT_NOFILE, &most);
  }
  ~MoreFiles() {
    if (known_) setrlimit(RLIMIT_NOFILE, &before_);
  }
  MoreFiles(const MoreFiles&) = delete;
  MoreFiles& operator=(const MoreFiles&) = delete;

 private:
  rlimit before_{};
  const bool known_;
};

/// The numbers by which the entries of a folder are named.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* entries = opendir(folder.c_str());
  if (!entries) return numbers;
  while (const dirent* entry = readdir(entries)) {
    if (const auto number = whole_number<pid_t>(entry->d_name)) numbers.push_back(*number);
  }
  closedir(entries);
  return numbers;
}

/// Those of each thread. Only where the kernel lists them.
std::vector<pid_t> listed_children(const ProcessStat& parent) {
  std::vector<pid_t> threads = {parent.id.pid};
  if (parent.threads > 1) threads = numbers_in("/proc/" + std::to_string(parent.id.pid) + "/task");
  std::vector<pid_t> children;
  for (const pid_t thread : threads) {
    const std::string list = read_proc(parent.id.pid, ("task/" + std::to_string(thread) + "/children").c_str());
    for (std::string_view rest = list; !rest.empty();) {
      if (const auto pid = whole_number<pid_t>(cut(rest, ' '))) children.push_back(*pid);
    }
  }
  return children;
}

bool kernel_lists_children() { return access("/proc/thread-self/children", F_OK) == 0; }

}  // namespace

std::vector<ProcessId> present_children() {
  siginfo_t none{};
  const bool childless = waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) != 0;
  if (childless || !proc_shows_us()) return {};
  return children_of(getpid());
}

std::vector<ProcessId> children_of(pid_t parent) {
  std::vector<ProcessId> found;
  const auto stat = look_up_process(parent);
  if (!stat) return found;
  for (const pid_t pid : kernel_lists_children() ? listed_children(*stat) : numbers_in("/proc")) {
    const auto child = look_up_process(pid);
    if (child && child->parent == parent) found.push_back(child->id);
  }
  return found;
}

std::vector<ProcessId> descendants_of(pid_t root, const std::vector<ProcessId>& others) {
  std::vector<ProcessId> found;
  const MoreFiles more;
  const auto top = proc_shows_us() ? look_up_process(root) : std::nullopt;
  if (!top) return found;
  const bool listed = kernel_lists_children();
  const std::vector<pid_t> all = listed ? std::vector<pid_t>() : numbers_in("/proc");
  std::vector<ProcessStat> family = {*top};
  const auto is_in_family = [&](pid_t pid) {
    return std::any_of(family.begin(), family.end(), [&](const ProcessStat& one) { return one.id.pid == pid; });
  };
  for (std::size_t next = 0; next < family.size(); ++next) {
    for (const pid_t pid : listed ? listed_children(family[next]) : all) {
      // Its parent may have ended since; another process that has got its pid is not a child of ours.
      const auto stat = read_stat(pid);
      if (!stat || is_in_family(pid) || !is_in_family(stat->parent)) continue;
      if (std::find(others.begin(), others.end(), stat->id) != others.end()) continue;
      family.push_back(*stat);
      found.push_back(stat->id);
    }
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
