// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

/// A process as /proc shows it: pid and start time together name one process for ever.
struct ProcessId {
  pid_t pid = 0;
  unsigned long long start_time = 0;  ///< clock ticks since boot
};

/// A living process of /proc/PID/stat. Zombies count as dead.
struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  char state = '?';
};

/// Reads one "/proc/PID/stat" text; false if it is not one. The command name may hold blanks and parentheses.
bool parse_stat(std::string_view text, ProcessStat& stat);

/// Everything that descends from `root` (not root itself), and everything else that was started with `marker`
/// (NAME=value) in its environment, unless that is empty. A snapshot: walk again until nothing is left. REQUIRES:
/// `root` is a child subreaper, so that orphans stay below it.
std::vector<ProcessId> command_processes(pid_t root, const std::string& marker);

/// What is left of a command whose supervisor has died: of `roots` those that still live, everything that descends from
/// them, and everything that was started under the hold of `owner` (DLOCK_OWNER or DLOCK_HELD name it), unless that is
/// empty. Never the caller itself. A snapshot, as above. REQUIRES: the caller is older than the command; of older
/// processes the environment is not even read.
std::vector<ProcessId> remaining_processes(const std::vector<ProcessId>& roots, const std::string& owner);

/// The process that has this pid now, a zombie included; nullopt if none has.
std::optional<ProcessStat> look_up_process(pid_t pid);

/// Was it started under the hold of `owner`? False as well when its environment is not ours to read.
bool started_under(pid_t pid, const std::string& owner);

/// Is `pid` a descendant of `root`?
bool descends_from(pid_t pid, pid_t root);

/// Sends `signal` to exactly this process, never to another one that got its pid. False if it is gone; errno tells why
/// otherwise (EPERM).
bool signal_process(const ProcessId& process, int signal);

}  // namespace dlock
