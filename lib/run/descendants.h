// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

#include "lib/base/process.h"

namespace dlock {

/// The children that this process has, those of whoever executed dlock in its own place included: for most one system
/// call, which says that there are none.
std::vector<ProcessId> present_children();

/// The children of a process, zombies included, those of its first thread in the order of their birth.
std::vector<ProcessId> children_of(pid_t parent);

/// The living processes that descend from `root`; not root itself, nor `others` and what descends from them. A
/// snapshot, in which a process that forks and ends during it can be missing: look again until there is nothing.
/// Nothing where /proc does not show us. The caller's soft limit of open files is raised for it. REQUIRES: `root` is a
/// child subreaper, so that orphans stay below it.
std::vector<ProcessId> descendants_of(pid_t root, const std::vector<ProcessId>& others = {});

/// Whether `pid` is a descendant of `root`.
bool descends_from(pid_t pid, pid_t root);

}  // namespace dlock
