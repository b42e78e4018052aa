// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/process.h"

namespace dlock {

/// The children that this process has, those of whoever executed dlock in its own place included: for most one system
/// call, which says that there are none.
std::vector<ProcessId> present_children();

/// Everything that descends from `root` (not root itself, nor `others` and what descends from them), and everything
/// else that was started with `marker` (NAME=value) in its environment, unless that is empty. A snapshot: walk again
/// until nothing is left. Nothing where /proc does not show us. The caller's soft limit of open files is raised for it.
/// REQUIRES: `root` is a child subreaper, so that orphans stay below it.
std::vector<ProcessId> command_processes(pid_t root, const std::string& marker,
                                         const std::vector<ProcessId>& others = {});

/// A number for one command, different for each; never 0.
std::uint64_t make_mark(const std::string& owner);

/// From now on this process and everything that it starts bear `mark`, where the kernel keeps it for us: in the soft
/// limit of RLIMIT_LOCKS, which limits nothing since Linux 2.4. No change of environment, session, parent or user takes
/// it off. Not an error where it cannot be set. Async-signal-safe.
void mark_this_process(std::uint64_t mark);
inline constexpr std::uint64_t kNoMark = ~std::uint64_t{0};  ///< for mark_this_process(): removes the mark

/// By what the processes of a command are recognised, whatever their parent and session.
struct CommandMarks {
  std::string owner;         ///< DLOCK_OWNER or DLOCK_HELD in their environment name it; empty: not looked at
  std::uint64_t number = 0;  ///< see mark_this_process(); 0: not looked at
  pid_t session = 0;  ///< whoever is another user's counts only in this one: anybody may have the number, nobody can
                      ///< enter the session
};

/// What is left of a command that its supervisor does not end: of `roots` those that still live, everything that bears
/// one of the marks, and everything that descends from these. Never the caller itself. A snapshot, as above. REQUIRES:
/// the caller is older than the command; older processes are not even looked at.
std::vector<ProcessId> remaining_processes(const std::vector<ProcessId>& roots, const CommandMarks& marks);

/// Whether process `pid` was started under the hold of `owner`. False also if we may not read its environment.
bool started_under(pid_t pid, const std::string& owner);

/// Whether `pid` is a descendant of `root`.
bool descends_from(pid_t pid, pid_t root);

}  // namespace dlock
