// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "cmd/show/contention.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/report.h"
#include "cmd/wiring/take.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/named_file.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/run/child_process.h"

namespace dlock {
namespace {

/// Where --report goes. Opened before the lock is taken, so that a bad path is an error before anything ran.
class ReportFile {
 public:
  static Result<ReportFile> open(const std::optional<std::string>& where);
  /// The run is over: a report that cannot be written is a warning, and changes no exit status.
  void write(const RunReport& report, const Log& log) const {
    if (fd_ < 0 || write_in_time(fd_, report_line(report))) return;
    log.warn("the report could not be written to " + where_ + ": " + errno_text(errno) +
             "; the exit status is not changed by this");
  }

 private:
  std::string where_;
  int fd_ = -1;
  UniqueFd owned_;
};

Result<ReportFile> ReportFile::open(const std::optional<std::string>& where) {
  ReportFile file;
  if (!where) return file;
  file.where_ = *where;
  if (where->starts_with("fd:")) {
    file.fd_ = whole_number<int>(std::string_view(*where).substr(3)).value_or(-1);
    const int flags = fcntl(file.fd_, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
      return Error{ErrorCode::kInvalid,
                   "--report " + *where + ": that descriptor is not open" + (flags < 0 ? "" : " for writing"),
                   "open it in the shell: dlock run --report fd:3 ... 3>report.json"};
    }
    return file;
  }
  file.owned_ = open_named_file(*where, O_TRUNC);
  file.fd_ = file.owned_.get();
  if (!file.owned_.valid()) {
    Error error = system_error("cannot write the report " + *where, errno);
    error.next = "nothing was run";
    return error;
  }
  return file;
}

std::vector<std::string> stock_variables(const Options& options) {
  if (!options.stock) return {};
  return {"DLOCK_STOCK_QTY=" + std::to_string(options.stock->qty), "DLOCK_STOCK_ID=" + options.stock->claim->id.text()};
}

struct Ending {
  int status = 0;
  int signal = 0;  ///< dies of it instead
};

Ending ending_of(const Options& options, const Runtime& runtime, const Taken& taken) {
  const SupervisorState& s = taken.state;
  switch (s.outcome) {
    case Outcome::kInterrupted:
      return {0, s.die_of.value_or(SIGTERM)};
    case Outcome::kRefused:
    case Outcome::kLost:
    case Outcome::kOverheld:
      return {explain_not_taken(options, runtime, taken)};
    case Outcome::kNotStarted:
      runtime.log.error(*s.error);
      return {s.not_started_status};
    case Outcome::kRan:
    case Outcome::kGranted:
      break;
  }
  // Whether it was sold has to be known.
  if (s.release_unconfirmed && options.stock) return {exit_status(ErrorCode::kUnavailable)};
  const int status = s.command_status.value_or(0);
  return WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status)};
}

RunReport begin_report(const Options& options, const Runtime& runtime, const std::vector<char*>& arguments) {
  RunReport report;
  report.started = runtime.clock.wall();
  report.host = this_process().host;
  report.reason = options.reason;
  report.command.assign(arguments.begin(), arguments.end() - 1);
  report.keys = options.keys;
  return report;
}

void complete(RunReport& report, const Options& options, const Runtime& runtime, const Taken& taken,
              const Ending& ending) {
  const SupervisorState& s = taken.state;
  const bool superseded = is_superseded(options, s);
  report.outcome = superseded ? "busy" : outcome_name(s);
  if (ending.signal) report.signal = ending.signal;
  else report.exit_code = ending.status;
  const bool granted = s.granted_at != TimePoint{};
  report.waited = (granted ? s.granted_at : runtime.clock.now()) - taken.started;
  if (granted && !s.locks.empty()) report.held = s.ended_at - s.granted_at;
  if (s.kept_until) {
    report.kept_until = runtime.clock.wall() +
                        std::chrono::duration_cast<std::chrono::microseconds>(*s.kept_until - runtime.clock.now());
  }
  report.locks = s.locks;
  const bool busy = s.outcome == Outcome::kRefused && s.error->code == ErrorCode::kBusy;
  if (busy && s.contention && !s.contention->holders.empty()) report.holder = s.contention->holders.front();
  if (s.contention) report.superseded_by = s.contention->superseded_by;
  if (superseded) report.superseded_by = asker_text(s.revoked);
}

/// "run a b -c STR": without -- there is one KEY, and `b` is CMD.
bool looks_like_second_key(const Options& options, const Program& program) {
  if (program.exit_status != kExitNotFound || options.child.size() < 3) return false;
  const std::string_view behind(options.child[1]);
  return behind == "-c" || behind == "--command";
}

/// "run a b", or "run -n 3 deploy": a CMD that is not found may be a second KEY.
std::string second_key_advice(const Options& options, const Program& program) {
  if (program.exit_status != kExitNotFound || options.shell_command || options.child.size() != 2) return {};
  const std::string name = shell_word(program.path);
  const std::string& key = options.keys.front().text();
  const bool number = key.find_first_not_of("0123456789") == std::string::npos;
  if (options.nonblock && number) {
    return "; -n takes no number: for at most " + key + " holders write: dlock run --permits " + key + " " + name +
           " -- CMD";
  }
  return "; if '" + program.path + "' is a KEY, too, the command is missing: dlock run " + shell_word(key) + " " +
         name + " -- CMD";
}

/// Found out before the lock is taken where it can be: a typing mistake should not cost an hour of waiting.
int refuse_program(const Options& options, const Runtime& runtime, const Program& program, RunReport report,
                   const ReportFile& file) {
  std::string next = "nothing was locked or run" + second_key_advice(options, program);
  if (looks_like_second_key(options, program)) {
    next += "; if '" + program.path + "' is a KEY, several keys need --: dlock run -c STR " +
            shell_word(options.keys.front().text()) + " " + shell_word(program.path) + " --";
  }
  runtime.log.error({ErrorCode::kInvalid, "cannot run '" + program.path + "': " + program.why, std::move(next)});
  report.outcome = "exec_failed";
  report.exit_code = program.exit_status;
  file.write(report, runtime.log);
  return program.exit_status;
}

void say_how_it_went(const Runtime& runtime, const Taken& taken) {
  const SupervisorState& s = taken.state;
  if (!runtime.log.style().verbose || s.granted_at == TimePoint{}) return;
  for (const HeldLock& lock : s.locks) {
    runtime.log.verbose("held " + lock.name.text() + " in " + lock.store +
                        (lock.token.is_none() ? "" : " with token " + lock.token.text()) + " for " +
                        human_duration(s.ended_at - s.granted_at) + (lock.reentered ? " (entered again)" : ""));
  }
}

}  // namespace

int run_command(const Options& options, const Runtime& runtime, char** environment) {
  const auto report_file = ReportFile::open(options.report);
  if (!report_file) return fail(runtime.log, report_file.error());

  auto signals = ProcessSignals::open();  // from here on a dead reader of ours is an error, and no SIGPIPE
  if (!signals) return fail(runtime.log, signals.error());
  const std::vector<char*> arguments = command_line(options);
  RunReport report = begin_report(options, runtime, arguments);
  Program program = find_program(arguments.front(), getenv("PATH"));
  if (program.exit_status != 0) return refuse_program(options, runtime, program, std::move(report), *report_file);

  ChildProcess command({std::move(program), arguments, environment, signals->inherited(), runtime.log,
                        stock_variables(options), options.close_lock, present_children()});
  const auto taken = take_locks(options, runtime, Intent::kTake, &command, *signals);
  if (!taken) return fail(runtime.log, taken.error());

  say_how_it_went(runtime, *taken);
  const Ending ending = ending_of(options, runtime, *taken);
  complete(report, options, runtime, *taken, ending);
  report_file->write(report, runtime.log);
  if (ending.signal) die_of(ending.signal);
  return ending.status;
}

}  // namespace dlock
