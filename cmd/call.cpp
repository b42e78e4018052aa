// SPDX-License-Identifier: Apache-2.0
#include "cmd/call.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "cmd/bench/bench.h"
#include "cmd/commands/commands.h"
#include "cmd/options/completion.h"
#include "cmd/show/exit_status.h"
#include "cmd/wiring/compose.h"
#include "lib/base/memory_limit.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

/// Memory that a store's program and its libraries need for themselves, and some.
constexpr std::size_t kMemoryToStart = 24 << 20;

int exec_keeper_program(const std::string& program, const Call& call) {
  const Log& log = call.runtime.log;
  // With less memory, or without a descriptor to spare, it could not load its libraries, and would end with ld.so's 127
  // or by SIGSEGV.
  if (const auto allowed = allowed_memory(); allowed && *allowed < kMemoryToStart) {
    return fail(log,
                {ErrorCode::kSystem, "cannot run " + program + ": it may use " + mebibytes(*allowed) + " of memory",
                 "allow more: ulimit -v"});
  }
  if (const UniqueFd spare(open(program.c_str(), O_PATH | O_CLOEXEC)); spare.valid()) execv(program.c_str(), call.argv);
  return fail(log, system_error("cannot run " + program, errno));
}

volatile pid_t working_child = 0;

/// What the terminal sends reaches the child by itself.
void pass_on(int number, siginfo_t* info, void* /*context*/) {
  if (info->si_code <= 0) kill(working_child, number);
}

/// The child says what it has left undone, and with which status it ends.
void pass_ends_on_to(pid_t child) {
  working_child = child;
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO;
  for (const int end : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    sigaction(end, &action, &before);
    if (before.sa_handler == SIG_IGN) signal(end, SIG_IGN);
  }
}

/// Does `work` in a child where a library of this program may crash on what its server sends: its parent reports
/// it. A command of the user's has no such parent.
int outliving_crashes(const Call& call, const std::function<int()>& work) {
  const Options& options = call.options;
  if (!may_crash() || !options.child.empty() || options.shell_command) return work();
  signal(SIGCHLD, SIG_DFL);  // who ignores it does not learn how a child ended
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) raise(SIGTERM);
  }
  if (child <= 0) return work();
  pass_ends_on_to(child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    if (number != crash) continue;
    return fail(call.runtime.log, {ErrorCode::kInternal,
                                   std::string("the client library died of SIG") + sigabbrev_np(number) +
                                       " while it read the answer of " + options.backends.front().redacted(),
                                   "is this the right server? See: dlock doctor"});
  }
  signal(number, SIG_DFL);
  return raise(number);
}

template <typename Port, typename Use>
int use_opened(const Call& call, const Result<Opened<Port>>& opened, Use use) {
  if (!opened) return fail(call.runtime.log, opened.error());
  if (const auto* other = std::get_if<OtherProgram>(&*opened)) return exec_keeper_program(other->path, call);
  return use(*std::get<std::unique_ptr<Port>>(*opened));
}

void limit_memory_for_stores() {
  if (memory_for_stores() > 0) limit_memory(memory_for_stores());
}

Result<Opened<LockAdmin>> open_store_of(const Call& call) {
  limit_memory_for_stores();
  return open_admin(call.options.backends.front(), call.runtime);
}

int ask_opened(const Call& call, const Result<Opened<LockAdmin>>& store, StoreCommand command) {
  return use_opened(call, store, [&](LockAdmin& admin) {
    return outliving_crashes(call, [&] { return command(call.options, admin, call.runtime, call.out); });
  });
}

int bench_locks(const Call& call) {
  const Options& options = call.options;
  const Runtime& runtime = call.runtime;
  const BackendUrl& url = options.backends.front();
  return use_opened(call, open_admin(url, runtime), [&](const LockAdmin& /*is here*/) {
    if (KeepLock keep = keep_here(url)) {
      return bench_command(options, {url.redacted(), take_kept(std::move(keep))}, runtime, call.out);
    }
    const auto store = open_store(url, runtime);
    if (!store) return fail(runtime.log, store.error());
    return bench_command(options, {store->name, take_session(store->open)}, runtime, call.out);
  });
}

int bench_stocks(const Call& call) {
  const auto clients = open_stock_clients(call.options.backends.front(), call.runtime);
  if (!clients) return fail(call.runtime.log, clients.error());
  if (!clients->program.empty()) return exec_keeper_program(clients->program, call);
  return bench_stock_command(call.options, *clients, call.runtime, call.out);
}

}  // namespace

namespace {

/// What one of several backends has answered, and has not said yet.
struct Answer {
  int status = 0;
  UniqueFd printed;  ///< stdout and stderr, in memory
  UniqueFd said;

  bool leaves_others() const { return status == kExitLost || status == exit_status(ErrorCode::kUnavailable); }
};

int tell(const Answer& answer) {
  constexpr std::size_t kAll = 1 << 24;
  for (const auto& [from, to] : {std::pair(answer.printed.get(), STDOUT_FILENO), {answer.said.get(), STDERR_FILENO}}) {
    char bytes[4096];
    off_t at = 0;
    for (ssize_t n = 0; at < static_cast<off_t>(kAll) && (n = pread(from, bytes, sizeof bytes, at)) > 0; at += n) {
      if (write(to, bytes, static_cast<std::size_t>(n)) != n) break;
    }
  }
  return answer.status;
}

/// The child of ask_apart(): this process, or a store's program in its place, asks that backend alone. What is not
/// there is no success here: it may be on another one.
int ask_only(const Call& call, std::size_t place, StoreCommand command) {
  Options options = call.options;
  options.backends = {call.options.backends[place]};
  options.if_held = false;
  setenv("DLOCK_BACKEND", call.options.places[place].c_str(), 1);
  if (place > 0) unsetenv("DLOCK_PASSWORD");
  std::vector<char*> words;
  for (char** word = call.argv; *word != nullptr; ++word) {
    if (std::string_view(*word) != "--if-held") words.push_back(*word);
  }
  words.push_back(nullptr);
  const Call only{options, call.runtime, call.out, words.data(), call.environment};
  return ask_opened(only, open_store_of(only), command);
}

std::optional<Answer> ask_apart(const Call& call, std::size_t place, StoreCommand command) {
  Answer answer{0, UniqueFd(memfd_create("printed", MFD_CLOEXEC)), UniqueFd(memfd_create("said", MFD_CLOEXEC))};
  signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t child = answer.printed.valid() && answer.said.valid() ? fork() : -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) raise(SIGTERM);
    dup2(answer.printed.get(), STDOUT_FILENO);
    dup2(answer.said.get(), STDERR_FILENO);
    _exit(ask_only(call, place, command));
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (child < 0 || !WIFEXITED(status)) return std::nullopt;
  answer.status = WEXITSTATUS(status);
  return answer;
}

/// `acquire` may have taken the lease from each of the backends: "not there" is an answer when all have given it.
int ask_each(const Call& call, StoreCommand command) {
  std::optional<Answer> last;
  for (std::size_t place = 0; place < call.options.backends.size(); ++place) {
    auto answer = ask_apart(call, place, command);
    if (!answer) return fail(call.runtime.log, system_error("cannot ask each backend", errno));
    if (!answer->leaves_others()) return tell(*answer);
    if (!last || last->status == kExitLost) last = std::move(answer);
  }
  const bool nowhere = last->status == kExitLost && call.options.if_held;
  return nowhere ? ask_opened(call, open_store_of(call), command) : tell(*last);
}

}  // namespace

int ask_store(const Call& call, StoreCommand command) {
  const bool in_one_place = call.options.places.empty() || memory_for_stores() > 0;  // a store's program asks its own
  return in_one_place ? ask_opened(call, open_store_of(call), command) : ask_each(call, command);
}

int ask_doctor(const Call& call) {
  const auto store = open_store_of(call);
  if (store) return ask_opened(call, store, doctor_command);
  return doctor_without_backend(call.options, store.error(), call.runtime, call.out);
}

int ask_stock(const Call& call) {
  limit_memory_for_stores();
  return use_opened(call, open_stock(call.options.backends.front(), call.runtime), [&](Stock& stock) {
    return outliving_crashes(call, [&] { return stock_command(call.options, stock, call.runtime, call.out); });
  });
}

int run_bench(const Call& call) { return call.options.words.empty() ? bench_locks(call) : bench_stocks(call); }

int complete(const Call& call) {
  using Live = Completion::Live;
  const Options& options = call.options;
  const Runtime& runtime = call.runtime;
  const Live live = complete_words({options.words.begin(), options.words.end()}).live;
  if (live == Live::kNone) return print_completion(options, {}, runtime, call.out);
  if (live == Live::kBackends) return print_completion(options, options.config.backend_names(), runtime, call.out);
  set_completion_deadline();
  if (live == Live::kKeys) return ask_store(call, complete_keys);
  const auto stocks = open_stock(options.backends.front(), runtime);
  if (!stocks) return 0;
  return use_opened(call, stocks, [&](Stock& stock) { return complete_stocks(options, stock, runtime, call.out); });
}

}  // namespace dlock
