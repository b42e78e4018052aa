// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_session.h"
#include "lib/run/supervisor.h"

namespace dlock {

/// How one `dlock run` ended, for --report: distinguishes a command's exit status from dlock's own.
struct RunReport {
  const char* outcome = "ran";   ///< outcome_name()
  std::optional<int> exit_code;  ///< of the command if it ran and ended by itself, else of dlock; unset with a signal
  std::optional<int> signal;     ///< that the command, or dlock, died of
  Duration waited{0};
  std::optional<Duration> held;             ///< unset: never held
  std::optional<WallTime> kept_until = {};  ///< --at-least keeps it
  std::vector<LockName> keys;               ///< as asked for, in canonical order
  std::vector<HeldLock> locks;              ///< as granted; empty: never held
  WallTime started{};                       ///< when dlock was
  std::string host = {};
  std::string reason = {};                 ///< as --reason says
  std::vector<std::string> command = {};   ///< with its arguments
  std::optional<Participant> holder = {};  ///< when busy: the first of those who held it at the last look
  std::string superseded_by = {};          ///< when busy: a later run, for which this one was given up
  std::optional<StockClaim> stock = {};    ///< of stock run
  std::optional<std::int64_t> left = {};   ///< when short
};

/// How a run went, as reports and events have it: "ran", "lost", "overheld", "exec_failed", "interrupted", or why it
/// was refused: "busy", "unavailable"; of a stock also "short", "repeated".
const char* outcome_name(const SupervisorState& s);

/// The dlock.report/1 line, with its newline. The top level speaks of the first key; "locks" is there with several.
std::string report_line(const RunReport& report);

/// Output of acquire and hold: "OWNER TOKEN", a line for each lock; with --json an object of `schema`, whose `until` is
/// null when the lock does not end by itself; with --shell the variables of a command's environment as exports.
std::string granted_text(const Options& options, const char* schema, const std::vector<HeldLock>& locks,
                         std::optional<WallTime> until);

}  // namespace dlock
