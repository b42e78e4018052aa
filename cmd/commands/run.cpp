// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "cmd/options/command_table.h"
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
  static Result<ReportFile> open(const std::optional<std::string>& where, Clock& clock);
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

/// A pipe may get its reader in this moment, but is not waited for.
UniqueFd open_report(const std::string& path, Clock& clock) {
  const TimePoint until = clock.now() + std::chrono::seconds(1);
  while (true) {
    UniqueFd file = open_named_file(path, O_TRUNC | O_NONBLOCK);
    if (file.valid() || errno != ENXIO || clock.now() >= until) return file;
    clock.sleep_until(clock.now() + std::chrono::milliseconds(20));
  }
}

Result<ReportFile> ReportFile::open(const std::optional<std::string>& where, Clock& clock) {
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
  file.owned_ = open_report(*where, clock);
  file.fd_ = file.owned_.get();
  if (!file.owned_.valid()) {
    const int number = errno;
    Error error = system_error("cannot write the report " + *where, number);
    error.next = std::string("nothing was run") + (number == ENXIO ? ": nobody reads that pipe" : "");
    return error;
  }
  fcntl(file.fd_, F_SETFL, fcntl(file.fd_, F_GETFL) & ~O_NONBLOCK);
  return file;
}

std::vector<std::string> stock_variables(const LockPlan& plan) {
  if (!plan.sells()) return {};
  const StockClaim& claim = *plan.locks.front().stock;
  return {"DLOCK_STOCK_QTY=" + std::to_string(claim.quantity), "DLOCK_STOCK_ID=" + claim.id.text()};
}

struct Ending {
  int status = 0;
  int signal = 0;  ///< dies of it instead
};

Ending ending_of(const LockTaking& taking, const Log& log) {
  const SupervisorState& s = taking.state();
  switch (s.outcome) {
    case Outcome::kInterrupted:
      return {0, s.die_of.value_or(SIGTERM)};
    case Outcome::kRefused:
    case Outcome::kLost:
    case Outcome::kOverheld:
      return {taking.explain()};
    case Outcome::kNotStarted:
      log.error(*s.error);
      return {s.not_started_status};
    case Outcome::kRan:
    case Outcome::kGranted:
      break;
  }
  const int status = s.command_status.value_or(0);
  // Whether it was sold has to be known.
  if (s.release_unconfirmed && status == 0 && taking.plan().sells()) return {exit_status(ErrorCode::kUnavailable)};
  return WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status)};
}

RunReport begin_report(const LockPlan& plan, const Runtime& runtime) {
  RunReport report;
  report.started = runtime.clock.wall();
  report.host = this_process().host;
  report.reason = plan.locks.front().reason;
  report.command.assign(plan.command.begin(), plan.command.end() - 1);
  report.keys = plan.telling.keys;
  report.stock = plan.locks.front().stock;
  return report;
}

void complete(RunReport& report, const LockTaking& taking, const Runtime& runtime, const Ending& ending) {
  const SupervisorState& s = taking.state();
  report.outcome = outcome_name(s);
  if (ending.signal) report.signal = ending.signal;
  else report.exit_code = ending.status;
  const bool granted = s.granted_at != TimePoint{};
  report.waited = (granted ? s.granted_at : runtime.clock.now()) - taking.started();
  if (granted && !s.locks.empty()) report.held = s.ended_at - s.granted_at;
  if (s.kept_until) {
    report.kept_until = runtime.clock.wall() +
                        std::chrono::duration_cast<std::chrono::microseconds>(*s.kept_until - runtime.clock.now());
  }
  report.locks = s.locks;
  const bool busy = s.outcome == Outcome::kRefused && s.error->code == ErrorCode::kBusy;
  if (busy && s.contention && !s.contention->holders.empty()) report.holder = s.contention->holders.front();
  if (s.contention) report.superseded_by = s.contention->superseded_by;
  if (s.outcome == Outcome::kRefused && s.error->code == ErrorCode::kShort) report.left = s.error->left;
}

/// A word of the shell, which no program has the name of.
bool is_builtin(std::string_view word) {
  bool is = false;
  for_each_word(
      ". alias bg cd command eval exec exit export fg jobs read return set shift source trap type ulimit umask "
      "unset wait",
      [&](std::string_view one) { is = is || one == word; });
  return is;
}

/// "run a b" and "run a b true": a CMD that is not found may be a second KEY.
std::string second_key_advice(const Options& options, const std::string& path) {
  const std::string& key = options.keys.front().text();
  const std::string keys = shell_word(key) + " " + shell_word(path);
  const std::string if_key = "if '" + path + "' is a KEY, ";
  const std::string_view behind(options.child.size() > 2 ? options.child[1] : "");
  if (behind == "-c" || behind == "--command") return if_key + "several keys need --: dlock run -c STR " + keys + " --";
  const bool number = key.find_first_not_of("0123456789") == std::string::npos;
  if (options.child.size() == 2 && options.nonblock && number)
    return "-n takes no number: for at most " + key + " holders write: dlock run --permits " + keys + " -- CMD";
  if (options.child.size() == 2) return if_key + "too, the command is missing: dlock run " + keys + " -- CMD";
  if (find_program(behind, getenv("PATH")).exit_status != 0) return {};
  return if_key + "several keys need --: dlock run " + keys + " -- " + shell_word(behind);
}

/// What may have been meant by a CMD that is not there.
std::string command_advice(const Options& options, const std::string& path) {
  const std::string key = shell_word(options.keys.front().text());
  std::string line;
  for (const char* word : options.child) {
    if (word != nullptr) line.append(line.empty() ? "" : " ").append(word);
  }
  const bool one_line = options.child.size() == 2 && path.find_first_of(" \t|&;<>$") != std::string::npos;
  if (one_line || is_builtin(path)) {
    const std::string run = options.stock ? "dlock stock run " : "dlock run ";
    return "a line for the shell needs -c: " + run + key + " -c " + shell_word(line);
  }
  return options.stock || options.separated || path.find('/') != std::string::npos ? ""
                                                                                   : second_key_advice(options, path);
}

/// Found out before the lock is taken where it can be: a typing mistake should not cost an hour of waiting.
int refuse_command(const Program& program, const Options& options, const Log& log) {
  const bool absent = program.exit_status == kExitNotFound && !options.shell_command;
  const std::string advice = absent ? command_advice(options, program.path) : "";
  log.error({ErrorCode::kInvalid, program.why, "nothing was locked or run" + (advice.empty() ? "" : "; " + advice)});
  return program.exit_status;
}

void say_how_it_went(const SupervisorState& s, const Log& log) {
  if (!log.style().verbose || s.granted_at == TimePoint{}) return;
  for (const HeldLock& lock : s.locks) {
    log.verbose("held " + lock.name.text() + " in " + lock.store +
                (lock.token.is_none() ? "" : " with token " + lock.token.text()) + " for " +
                human_duration(s.ended_at - s.granted_at) + (lock.reentered ? " (entered again)" : ""));
  }
}

}  // namespace

int run_command(const Options& options, const Runtime& runtime, char** environment) {
  const auto report_file = ReportFile::open(options.report, runtime.clock);
  if (!report_file) return fail(runtime.log, report_file.error());

  LockTaking taking(options, runtime);
  const LockPlan& plan = taking.plan();
  RunReport report = begin_report(plan, runtime);
  const auto refuse = [&](const Error& why) {
    report.outcome = "unavailable";
    report.exit_code = fail(runtime.log, why);
    report_file->write(report, runtime.log);
    return *report.exit_code;
  };
  auto signals = ProcessSignals::open();  // from here on a dead reader of ours is an error, and no SIGPIPE
  if (!signals) return refuse(signals.error());
  Program program = find_program(plan.command.front(), getenv("PATH"));
  if (program.exit_status != 0) {
    report.outcome = "exec_failed";
    report.exit_code = refuse_command(program, options, runtime.log);
    report_file->write(report, runtime.log);
    return *report.exit_code;
  }

  ChildProcess command({std::move(program), plan.command, environment, signals->inherited(), runtime.log,
                        stock_variables(plan), options.close_lock, present_children()});
  if (const auto taken = taking.take(&command, *signals); !taken) return refuse(taken.error());

  say_how_it_went(taking.state(), runtime.log);
  const Ending ending = ending_of(taking, runtime.log);
  complete(report, taking, runtime, ending);
  report_file->write(report, runtime.log);
  if (ending.signal) die_of(ending.signal);
  return ending.status;
}

}  // namespace dlock
