// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/holder_process.h"

#include <chrono>
#include <ctime>

#include "cmd/show/contention.h"
#include "cmd/show/render.h"
#include "lib/base/process.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kClocksDiffer = 1s;  ///< the store's, which says since when, and this machine's

Duration lifetime(const ProcessId& process) {
  timespec since_boot{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return std::chrono::seconds(since_boot.tv_sec) + std::chrono::nanoseconds(since_boot.tv_nsec - started_ns(process));
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

}  // namespace

UniqueFd process_of_holder(const Participant& participant, WallTime now) {
  if (participant.owner.empty() || participant.pid <= 0 || participant.lease || !participant.since ||
      participant.host != this_process().host)
    return {};
  const auto pid = static_cast<pid_t>(participant.pid);
  UniqueFd process = open_process(pid);
  const auto seen = look_up_process(pid);
  if (!process.valid() || !seen || read_proc(pid, "comm") != "dlock\n") return {};
  if (lifetime(seen->id) + kClocksDiffer < age(*participant.since, now) || has_ended(process)) return {};
  return process;
}

std::string holder_text(Participant participant, WallTime now) {
  if (participant.command.empty() || !process_of_holder(participant, now).valid()) return participant_text(participant);
  const pid_t command = command_below(static_cast<pid_t>(participant.pid));
  if (command > 0) participant.pid = command;
  return participant_text(participant);
}

}  // namespace dlock
