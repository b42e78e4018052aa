// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/unique_fd.h"
#include "tests/verify/history.h"
#include "tests/verify/schedule.h"

namespace dlock {

/// A process that was started here.
struct StartedProcess {
  pid_t pid = 0;
  UniqueFd process;  ///< readable when it has ended
  UniqueFd said;     ///< its stderr, not blocking
};

/// Says what is wrong with the test, and ends it without a verdict (71).
[[noreturn]] void die(const std::string& what, int errnum = 0);

/// Where the workers live: a temporary directory with the history in it, which is their HOME. Each dlock that is
/// started there is killed by the kernel when this process dies.
class Workshop {
 public:
  /// Makes the directory, and takes from this process's environment what dlock would read from it, but for
  /// $DLOCK_BACKEND and $DLOCK_PASSWORD.
  Workshop();

  /// Starts the dlock of $PATH with the arguments `words`, its stdout goes nowhere.
  StartedProcess start(std::vector<std::string> words) const;
  /// Runs dlock, and waits for its end: its exit status, or 128 + N for signal N, and its last message.
  std::pair<int, std::string> ask(std::vector<std::string> words) const;

  /// Appends one line to the history.
  void note(const Act& act) const;
  const std::string& history() const { return history_path_; }

 private:
  std::string history_path_;
  UniqueFd history_;
};

/// The last message in `log`, which is the stderr of a run with --log-format json; a log that is none is told as it is.
std::string last_message(const std::string& log);

/// Whether a run has said that it waits, in `said`: what it wrote to stderr so far, with --progress always. With
/// `in_line` only a message counts that names its place in the store's queue.
bool says_that_it_waits(std::string_view said, bool in_line);

/// The processes of one run.
struct RunFamily {
  pid_t keeper = 0;   ///< 0: it has none
  pid_t command = 0;  ///< 0: not started
};
RunFamily family_of(pid_t supervisor);

/// What runs under the locks: appends BEGIN, a TICK every 10 ms and, when `hold` is over, END to the history `file`.
/// TERM ends it, or, if it is stubborn, is written down.
void section(const char* file, const char* name, Duration hold, bool stubborn);

/// What drive() did, besides writing the history.
struct Driven {
  std::map<Fault, int> done;  ///< how many of each fault there were
  Duration late{0};           ///< the longest time by which this process was woken too late
};

/// Starts runs, one after the other for each worker, makes the planned faults, and waits until the last run has ended.
/// `history` is what was written until then. Single-threaded.
Driven drive(const VerifyPlan& plan, const Abilities& can, const Workshop& workshop, VerifyHistory& history);

}  // namespace dlock
