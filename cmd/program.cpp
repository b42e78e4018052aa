// SPDX-License-Identifier: Apache-2.0
#include "cmd/program.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <functional>
#include <new>

#include "cmd/bench/bench.h"
#include "cmd/bench/bench_stock.h"
#include "cmd/commands/acquire.h"
#include "cmd/commands/check.h"
#include "cmd/commands/complete.h"
#include "cmd/commands/config.h"
#include "cmd/commands/doctor.h"
#include "cmd/commands/fence.h"
#include "cmd/commands/force_release.h"
#include "cmd/commands/gc.h"
#include "cmd/commands/history.h"
#include "cmd/commands/hold.h"
#include "cmd/commands/inspect.h"
#include "cmd/commands/metrics.h"
#include "cmd/commands/ping.h"
#include "cmd/commands/renew_release.h"
#include "cmd/commands/revoke.h"
#include "cmd/commands/run.h"
#include "cmd/commands/stock.h"
#include "cmd/options/completion.h"
#include "cmd/options/options.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/output.h"
#include "cmd/verify/section.h"
#include "cmd/verify/verify.h"
#include "cmd/wiring/compose.h"
#include "lib/base/json_writer.h"
#include "lib/base/memory_limit.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

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

/// Whether a command does something besides printing, which is worth doing for somebody who reads nothing of it.
bool works_unread(Command command) {
  for (const Command one :
       {Command::kRun, Command::kWait, Command::kRenew, Command::kRelease, Command::kForceRelease, Command::kRevoke,
        Command::kCheck, Command::kFence, Command::kGc, Command::kSetup, Command::kSection}) {
    if (one == command) return true;
  }
  return false;
}

/// What a store's program and its libraries need for themselves, and some.
constexpr std::size_t kMemoryToStart = 24 << 20;

/// Commands that supervise nothing are the business of the program that knows the store: it has the same command line.
int exec_keeper_program(const std::string& program, char** argv, const Log& log) {
  // With less memory, or without a descriptor to spare, it could not load its libraries, and would end with ld.so's 127
  // or by SIGSEGV.
  if (const auto allowed = allowed_memory(); allowed && *allowed < kMemoryToStart) {
    return fail(log,
                {ErrorCode::kSystem, "cannot run " + program + ": it may use " + mebibytes(*allowed) + " of memory",
                 "allow more: ulimit -v"});
  }
  if (const UniqueFd spare(open(program.c_str(), O_PATH | O_CLOEXEC)); spare.valid()) execv(program.c_str(), argv);
  return fail(log, system_error("cannot run " + program, errno));
}

/// Before a store is asked by this process itself.
void limit_memory_for_stores() {
  if (memory_for_stores() > 0) limit_memory(memory_for_stores());
}

/// A file that may not grow (ulimit -f) is an error to be told, not our end. Not where we become or run a command,
/// which would inherit this.
void outlive_full_files() { signal(SIGXFSZ, SIG_IGN); }

/// Does `work` in a child where a library of this program may crash on what the server of `url` sends: its parent tells
/// of that. A command of the user's is not to have such a parent.
int outliving_crashes(const BackendUrl& url, const Options& options, const Log& log, const std::function<int()>& work) {
  if (!may_crash() || !options.child.empty() || options.shell_command) return work();
  signal(SIGCHLD, SIG_DFL);  // who ignores it does not learn how a child ended
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) raise(SIGTERM);
  }
  if (child <= 0) return work();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    if (number != crash) continue;
    return fail(log, {ErrorCode::kInternal,
                      std::string("the client library died of SIG") + sigabbrev_np(number) + " on what " +
                          url.redacted() + " answered",
                      "is it the server that it should be? See: dlock doctor"});
  }
  signal(number, SIG_DFL);
  return raise(number);
}

using StoreCommand = int (*)(const Options&, LockAdmin&, const Runtime&, Output&);

int on_store(StoreCommand command, const Options& options, const Runtime& runtime, char** argv, Output& out) {
  limit_memory_for_stores();
  auto store = open_admin(options.backends.front(), runtime);
  if (!store && options.command == Command::kDoctor)
    return doctor_without_backend(options, store.error(), runtime, out);
  if (!store) return fail(runtime.log, store.error());
  if (const auto* other = std::get_if<OtherProgram>(&*store))
    return exec_keeper_program(other->path, argv, runtime.log);
  return outliving_crashes(options.backends.front(), options, runtime.log, [&] {
    return command(options, *std::get<std::unique_ptr<LockAdmin>>(*store), runtime, out);
  });
}

int on_stock(const Options& options, const Runtime& runtime, char** argv, Output& out) {
  limit_memory_for_stores();
  auto store = open_stock(options.backends.front(), runtime);
  if (!store) return fail(runtime.log, store.error());
  if (const auto* other = std::get_if<OtherProgram>(&*store))
    return exec_keeper_program(other->path, argv, runtime.log);
  return outliving_crashes(options.backends.front(), options, runtime.log, [&] {
    return stock_command(options, *std::get<std::unique_ptr<Stock>>(*store), runtime, out);
  });
}

int on_bench(const Options& options, const Runtime& runtime, char** argv, Output& out) {
  const BackendUrl& url = options.backends.front();
  const auto admin = open_admin(url, runtime);
  if (!admin) return fail(runtime.log, admin.error());
  if (const auto* other = std::get_if<OtherProgram>(&*admin))
    return exec_keeper_program(other->path, argv, runtime.log);
  if (KeepLock keep = keep_here(url)) {
    return bench_command(options, {url.redacted(), take_kept(std::move(keep))}, runtime, out);
  }
  const auto store = open_store(url, runtime);
  if (!store) return fail(runtime.log, store.error());
  return bench_command(options, {store->name, take_session(store->open)}, runtime, out);
}

int on_stock_bench(const Options& options, const Runtime& runtime, char** argv, Output& out) {
  const auto clients = open_stock_clients(options.backends.front(), runtime);
  if (!clients) return fail(runtime.log, clients.error());
  if (!clients->program.empty()) return exec_keeper_program(clients->program, argv, runtime.log);
  return bench_stock_command(options, *clients, runtime, out);
}

int force_release(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  return force_release_command(options, backend, runtime, out);
}

std::string version_text(bool as_json) {
  if (!as_json) return "dlock " DLOCK_VERSION "\n";
  JsonWriter json;
  json.begin_object().key("schema").text("dlock.version/1").key("version").text(DLOCK_VERSION).end_object();
  return json.line();
}

/// NAME PLACE, a line for each.
int servers_command(const Options& /*options*/, LockAdmin& backend, const Runtime& runtime, Output& out) {
  const auto servers = backend.servers();
  if (!servers) return fail(runtime.log, servers.error());
  std::string text;
  for (const ServerPlace& server : *servers) text += server.name + ' ' + server.place + '\n';
  return print(out, runtime.log, text);
}

int setup_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  auto text = backend.set_up(options.print);
  if (!text) return fail(runtime.log, text.error());
  if (options.json) {
    JsonWriter json;
    json.begin_object().key("schema").text("dlock.setup/2").key("store").text(backend.store());
    json.key("print").boolean(options.print).key("text").text_or_null(*text).end_object();
    return print(out, runtime.log, json.line());
  }
  return print(out, runtime.log, text->empty() ? backend.store() + " needs no setup\n" : *text);
}

int complete(const Options& options, const Runtime& runtime, char** argv, Output& out) {
  using Live = Completion::Live;
  const Live live = complete_words({options.words.begin(), options.words.end()}).live;
  if (live == Live::kNone) return complete_line(options, runtime, out);
  if (live == Live::kBackends) return complete_backends(options, runtime, out);
  hurry();
  if (live == Live::kKeys) return on_store(complete_keys, options, runtime, argv, out);
  auto store = open_stock(options.backends.front(), runtime);
  if (!store) return 0;
  if (const auto* other = std::get_if<OtherProgram>(&*store))
    return exec_keeper_program(other->path, argv, runtime.log);
  return complete_stocks(options, *std::get<std::unique_ptr<Stock>>(*store), runtime, out);
}

int print_result(const Result<std::string>& text, const Log& log, Output& out) {
  return text ? print(out, log, *text) : fail(log, text.error());
}

bool runs_command(const Options& options) {
  return options.command == Command::kRun || (options.stock && options.stock->action == StockAction::kRun);
}

int dispatch(const Options& options, const Runtime& runtime, char** argv, char** environment, Output& out) {
  const auto on = [&](StoreCommand command) { return on_store(command, options, runtime, argv, out); };
  switch (options.command) {
    case Command::kRun:
      break;  // run_main()
    case Command::kHold:
      return hold_command(options, runtime, out);
    case Command::kAcquire:
      return acquire_command(options, runtime, out);
    case Command::kWait:
      return wait_command(options, runtime);
    case Command::kRenew:
      return on(renew_command);
    case Command::kRelease:
      return on(release_command);
    case Command::kInspect:
      return on(inspect_command);
    case Command::kRevoke:
      return on(revoke_command);
    case Command::kForceRelease:
      return on(force_release);
    case Command::kCheck:
      return on(check_command);
    case Command::kFence:
      return on(fence_command);
    case Command::kDoctor:
      return on(doctor_command);
    case Command::kPing:
      return on(ping_command);
    case Command::kGc:
      return on(gc_command);
    case Command::kBench:
      return options.words.empty() ? on_bench(options, runtime, argv, out)
                                   : on_stock_bench(options, runtime, argv, out);
    case Command::kSetup:
      return on(setup_command);
    case Command::kStock:
      return on_stock(options, runtime, argv, out);
    case Command::kVerify:
      return verify_command(options, runtime, out);
    case Command::kServers:
      return on(servers_command);
    case Command::kSection:
      return section_command(options.words, environment);
    case Command::kHistory:
      return history_command(options, runtime, out);
    case Command::kMetrics:
      return on(metrics_command);
    case Command::kConfig:
      return config_command(options, runtime, out);
    case Command::kCompletion:
      return print_result(completion_script(options.words.front()), runtime.log, out);
    case Command::kComplete:
      return complete(options, runtime, argv, out);
    case Command::kHelp:
      return print_result(help_text(options.words), runtime.log, out);
    case Command::kVersion:
      return print(out, runtime.log, version_text(options.json));
  }
  return fail(runtime.log, {ErrorCode::kInternal, "a command without code"});
}

/// Before the command line has been read, or when it cannot be.
Log log_of_mistakes(int argc, char** argv) {
  Log::Style style;
  if (asks_for_json_log(argc, argv)) style.format = Log::Format::kJson;
  return Log(style);
}

int run_main(int argc, char** argv) {
  fill_closed_standard_descriptors();
  const auto options = parse_command_line(argc, argv, environ);
  if (!options) return fail(log_of_mistakes(argc, argv), options.error());
  if (options->child.empty() && !options->shell_command) outlive_full_files();
  const Log log(options->log, STDERR_FILENO, options->same_store,
                options->keys.size() == 1 ? options->keys.front().text() : "");
  // A store's program is executed by dlock, which has said them.
  if (memory_for_stores() == 0) {
    for (const std::string& warning : options->warnings) log.warn(warning);
  }
  SystemClock clock;
  const Runtime runtime{clock, log, options->connect_timeout};
  if (runs_command(*options)) return run_command(*options, runtime, environ);
  Output out = Output::standard(*options);
  if (const auto fit = out.check(); !fit && !works_unread(options->command)) return fail(log, fit.error());
  return dispatch(*options, runtime, argv, environ, out);
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    return run_main(argc, argv);
  } catch (const std::exception& failure) {
    const std::string why = failure_text(failure);
    if (memory_for_stores() > 0) {
      return fail(log_of_mistakes(argc, argv),
                  {ErrorCode::kUnavailable, "what the server sent is too much for dlock: " + why,
                   "is it the server that it should be? See: dlock doctor"});
    }
    if (dynamic_cast<const std::bad_alloc*>(&failure)) {
      return fail(log_of_mistakes(argc, argv),
                  {ErrorCode::kSystem, why, "allow more: ulimit -d, ulimit -v, or the memory limit of its cgroup"});
    }
    return fail(log_of_mistakes(argc, argv), {ErrorCode::kInternal, "this is a bug in dlock: " + why,
                                              "please report it with the output of: dlock --version; dlock doctor"});
  }
}

}  // namespace dlock
