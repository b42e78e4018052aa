// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/unique_fd.h"

namespace dlock {

/// A process as /proc shows it: pid and start time together name one process for ever.
struct ProcessId {
  pid_t pid = 0;
  unsigned long long start_time = 0;  ///< clock ticks since boot
  bool operator==(const ProcessId&) const = default;
};

/// A process of /proc/PID/stat.
struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  ///< as ps(1) has it: 'T' is stopped, 'Z' a zombie
};

/// Reads one "/proc/PID/stat" text; false if it is not one. The command name may hold blanks and parentheses.
bool parse_stat(std::string_view text, ProcessStat& stat);

/// /proc/PID/FILE; empty if there is none, or if it is not ours to read.
std::string read_proc(pid_t pid, const char* file);

/// The process that has this pid now, a zombie included; nullopt if none has.
std::optional<ProcessStat> look_up_process(pid_t pid);

/// Whether /proc shows this process, by the pid that it knows itself by. Not so where none is mounted (a bare chroot),
/// where it is that of another pid namespace, and when no file can be opened any more.
bool proc_shows_us();

/// When it started, in ns on the boot clock (CLOCK_BOOTTIME), to a clock tick.
std::int64_t started_ns(const ProcessId& process);

/// pidfd_open(2); invalid with errno set if there is no such process.
UniqueFd open_process(pid_t pid);

/// pidfd_send_signal(2); false with errno set.
bool signal_process(const UniqueFd& process, int signal);

/// Sends `signal` to exactly this process, never to another one that got its pid. False with errno set: ESRCH if it is
/// gone or a zombie, EPERM.
bool signal_process(const ProcessId& process, int signal);

/// The pid of who `process` is open on; 0 or less: invalid, or reaped.
pid_t pid_of(const UniqueFd& process);

/// Waits for the end of this child, which is reaped: its exit status, 128 + N for signal N.
int reap(pid_t child);

/// Whether it has ended, reaped or not; also of an invalid one.
bool has_ended(const UniqueFd& process);

}  // namespace dlock
