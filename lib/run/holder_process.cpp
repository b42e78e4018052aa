// SPDX-License-Identifier: Apache-2.0
#include "lib/run/holder_process.h"

#include <sys/utsname.h>

#include <chrono>
#include <ctime>

#include "lib/base/process.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

constexpr Duration kClocksDiffer = std::chrono::seconds(1);  ///< the store's, which says since when, and ours

Duration lifetime(const ProcessId& process) {
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return std::chrono::seconds(since_boot.tv_sec) + std::chrono::nanoseconds(since_boot.tv_nsec - started_ns(process));
}

bool is_of_this_machine(const Participant& participant) {
  utsname name{};
  uname(&name);
  return participant.host == name.nodename;
}

/// The child of `parent` that is not one of dlock's helpers; 0 if it has none.
pid_t command_below(pid_t parent) {
  for (const ProcessId& child : children_of(parent)) {
    const std::string name = read_proc(child.pid, "comm");
    if (name == "dlock.guard\n") return command_below(child.pid);
    if (!name.starts_with("dlock-")) return child.pid;
  }
  return 0;
}

WallTime::duration whole(Duration d) { return std::chrono::duration_cast<WallTime::duration>(d); }

}  // namespace

UniqueFd process_of_holder(const Participant& participant, WallTime now) {
  const bool is_run = !participant.owner.empty() && participant.pid > 0 && !participant.lease && participant.since;
  if (!is_run || !is_of_this_machine(participant)) return {};
  const auto pid = static_cast<pid_t>(participant.pid);
  UniqueFd process = open_process(pid);
  const auto seen = look_up_process(pid);
  if (!process.valid() || !seen || read_proc(pid, "comm") != "dlock\n") return {};
  if (lifetime(seen->id) + kClocksDiffer < now - *participant.since || has_ended(process)) return {};
  return process;
}

void complete_holders(std::vector<Participant>& holders, WallTime now) {
  for (Participant& holder : holders) {
    if (holder.command.empty() || !holder.ran.empty()) continue;
    const bool renews = holder.ttl > Duration(0) && !is_delay(holder.standing);
    if (holder.until && renews) holder.renewed = *holder.until - whole(holder.ttl);
    if (!process_of_holder(holder, now).valid()) continue;
    holder.command_pid = command_below(static_cast<pid_t>(holder.pid));
    const auto seen = look_up_process(static_cast<pid_t>(holder.command_pid));
    holder.stopped = seen && seen->state == 'T';
  }
}

}  // namespace dlock
