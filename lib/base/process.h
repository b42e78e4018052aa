// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// Runs a program found in PATH (`words`, without a closing nullptr) to its end. `read` gets its stdout and must read
/// it to the end; stdin and stderr are ours. Returns its exit status, 128 + N for signal N, -1 if that was lost
/// (reap()); System if it cannot be started.
Result<int> run_program(std::vector<const char*> words, const std::function<void(int fd)>& read);

/// Identifies a process, even after its end: no other one has the same pid and start time.
struct ProcessId {
  pid_t pid = 0;
  unsigned long long start_time = 0;  ///< clock ticks since boot
  bool operator==(const ProcessId&) const = default;
};

/// The parts of /proc/PID/stat that dlock reads.
struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';  ///< as ps(1) has it: 'T' is stopped, 'Z' a zombie
  int threads = 0;   ///< that have not ended; the first one counts until it is reaped
};

/// Reads one "/proc/PID/stat" text; false if it is not one. The command name may hold blanks and parentheses.
bool parse_stat(std::string_view text, ProcessStat& stat);

/// The text of /proc/PID/FILE; empty if there is none, or if we may not read it.
std::string read_proc(pid_t pid, const char* file);

/// The process that has this pid now, a zombie included; nullopt if none has.
std::optional<ProcessStat> look_up_process(pid_t pid);

/// Whether only its zombie is left. One whose first thread has ended shows as a zombie, too, while others go on.
bool has_ended(const ProcessStat& process);

/// Whether the process is in a frozen cgroup (systemctl freeze, docker pause), v2 or v1, below the usual mount points.
/// True only if that cgroup lists the process.
bool is_frozen(const ProcessStat& process);

/// Whether /proc shows this process under its own pid. False if none is mounted (a bare chroot), if it belongs to
/// another pid namespace, and when no file can be opened any more.
bool proc_shows_us();

/// The folder of the program that this process runs; empty if nothing says it. Without /proc it is found by the name
/// under which the program was started.
std::string own_folder();

/// When the process started, in ns of CLOCK_BOOTTIME, with the precision of a clock tick.
std::int64_t started_ns(const ProcessId& process);

/// pidfd_open(2); invalid with errno set if there is no such process.
UniqueFd open_process(pid_t pid);

/// pidfd_send_signal(2); false with errno set.
bool signal_process(const UniqueFd& process, int signal);

/// Sends `signal` to exactly this process, never to another one that got its pid. False with errno set: ESRCH if it is
/// gone or a zombie, EPERM.
bool signal_process(const ProcessId& process, int signal);

/// The pid of the process of a pidfd; 0 or less: the descriptor is invalid, or the process was reaped.
pid_t pid_of(const UniqueFd& process);

/// Waits for the end of this child and reaps it. Returns its exit status, 128 + N for signal N; -1 if it is not a child
/// of ours to reap: it was reaped already, or SIGCHLD is ignored, and the kernel has done it.
int reap(pid_t child);

/// Whether the process of a pidfd has ended, reaped or not. True also where there is no descriptor (-1): that of
/// a process that had ended before it was opened.
bool has_ended(const UniqueFd& process);

}  // namespace dlock
