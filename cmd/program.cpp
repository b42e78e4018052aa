// SPDX-License-Identifier: Apache-2.0
#include "cmd/program.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>

#include "cmd/call.h"
#include "cmd/options/command_table.h"
#include "cmd/show/exit_status.h"
#include "cmd/wiring/compose.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/memory_limit.h"

namespace dlock {
namespace {

/// A descriptor that we open must never become the command's stdin, stdout or stderr because that one was closed. The
/// stand-ins are close-on-exec: for the command it is closed as before. That of stdin gives no end of file and that of
/// stdout takes nothing: they fail, as before.
void fill_closed_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    const int access = fd == STDIN_FILENO ? O_WRONLY : fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", access | O_CLOEXEC);  // gets the lowest: fd
  }
}

/// A file that may not grow (ulimit -f) is an error to report, not our end. Not where we become or run a command,
/// which would inherit this.
void ignore_sigxfsz() { signal(SIGXFSZ, SIG_IGN); }

/// Before the command line has been read, or when it cannot be.
Log log_of_mistakes(int argc, char** argv) {
  Log::Style style;
  if (asks_for_json_log(argc, argv)) style.format = Log::Format::kJson;
  return Log(style);
}

/// For what goes wrong where no command can say it. A script that evaluates what is printed must not go on as if it had
/// the lock.
int fail_without_command(int argc, char** argv, const Error& error) {
  const int status = fail(log_of_mistakes(argc, argv), error);
  if (asks_for_shell(argc, argv)) write_in_time(STDOUT_FILENO, status_for_eval(status));
  return status;
}

/// Where a wait has an end, the store has no more time than that; a second if it is shorter.
Duration time_of_silent_store(const Options& options) {
  if (options.command != Command::kRevoke || !options.wait) return options.connect_timeout;
  return std::min<Duration>(options.connect_timeout, std::max<Duration>(*options.wait, std::chrono::seconds(1)));
}

int run_main(int argc, char** argv) {
  fill_closed_standard_descriptors();
  const auto options = parse_command_line(argc, argv, environ);
  if (!options) return fail_without_command(argc, argv, options.error());
  if (options->child.empty() && !options->shell_command) ignore_sigxfsz();
  const Log log(options->log, STDERR_FILENO, options->same_store,
                options->keys.size() == 1 ? std::string(options->keys.front().key()) : "");
  // A store's program is executed by dlock, which has said them.
  if (memory_for_stores() == 0) {
    for (const std::string& warning : options->warnings) log.warn(warning);
  }
  SystemClock clock;
  const Runtime runtime{clock, log, time_of_silent_store(*options)};
  const CommandRow& row = command_row(options->command);
  const bool runs_command =
      row.command == Command::kRun || (options->stock && options->stock->action == StockAction::kRun);
  Output out = runs_command ? Output(STDOUT_FILENO, {}) : Output::standard(*options);
  if (!runs_command && (row.traits & kHasEffect) == 0) {
    if (const auto fit = out.check(); !fit) return fail(log, fit.error());
  }
  return row.run({*options, runtime, out, argv, environ});
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    return run_main(argc, argv);
  } catch (const std::exception& failure) {
    const std::string why = failure_text(failure);
    if (memory_for_stores() > 0) {
      return fail_without_command(argc, argv,
                                  {ErrorCode::kUnavailable, "the server sent more than dlock can hold: " + why,
                                   "is this the right server? See: dlock doctor"});
    }
    if (dynamic_cast<const std::bad_alloc*>(&failure)) {
      return fail_without_command(
          argc, argv, {ErrorCode::kSystem, why, "allow more: ulimit -d, ulimit -v, or the memory limit of its cgroup"});
    }
    return fail_without_command(argc, argv,
                                {ErrorCode::kInternal, "this is a bug in dlock: " + why,
                                 "please report it with the output of: dlock --version; dlock doctor"});
  }
}

}  // namespace dlock
