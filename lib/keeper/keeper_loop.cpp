// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_loop.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "lib/base/memory_limit.h"
#include "lib/base/packets.h"
#include "lib/base/signals_blocked.h"
#include "lib/keeper/keeper_session.h"
#include "lib/keeper/keeping.h"
#include "lib/keeper/supervisor_link.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr int kStatusFailed = 70;
/// For the next holder to get on its way, after the supervisor has ended.
constexpr Duration kLingerAfterSupervisor = 5ms;
constexpr Duration kLongestLinger = kLastWordToEnd - kLingerAfterSupervisor;

std::optional<AcquireRequest> first_request(SupervisorLink& link, Clock& clock) {
  while (true) {
    link.receive();
    if (auto request = link.take_acquire()) return request;
    if (link.gone() || link.nonsense()) return std::nullopt;
    std::vector<pollfd> fds;
    link.add_interest(fds);
    clock.wait(fds, std::nullopt);
  }
}

/// Lets others go first: people wait for the supervisor, the next holder for the server, and none for us
/// and our connections to be torn down, which on a busy machine came before both (0.2 ms of a hand-over). A supervisor
/// that has not read the last word has a `ttl` for that.
void linger(SupervisorLink& link, Clock& clock, Duration ttl) {
  std::vector<pollfd> fds;
  for (const TimePoint until = clock.now() + ttl; link.has_unsaid() && clock.now() < until; fds.clear()) {
    link.add_interest(fds);
    clock.wait(fds, until);
    link.receive();
  }
  const TimePoint until = clock.now() + kLongestLinger;
  for (link.add_interest(fds); !fds.empty() && clock.now() < until; link.add_interest(fds)) {
    clock.wait(fds, until);
    link.receive();
    fds.clear();
  }
  fds.clear();
  clock.wait(fds, clock.now() + kLingerAfterSupervisor);
}

/// Opened again, because its flags are shared by all who have it: a full pipe or a stopped terminal then loses a
/// warning, and holds up no renewal. A file does not block, and a second opening writes at a place of its own.
void stop_blocking_stderr() {
  struct stat stream {};
  if (fstat(STDERR_FILENO, &stream) != 0 || S_ISREG(stream.st_mode)) return;
  const UniqueFd own(open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own.valid()) dup2(own.get(), STDERR_FILENO);
}

void keep_lock(SupervisorLink& link, const AcquireRequest& request, const OpenLockDriver& open, const AskHolders& ask,
               const WhoFreed& who_freed, const Runtime& runtime, Processes& processes) {
  const Log log(request.style, runtime.log.fd(), {}, request.spec.name.text());
  if (ask) {
    link.revoke_by([&](const LockState& shown, const std::string& by, TimePoint until) {
      return ask(request, {runtime.clock, log, until - runtime.clock.now()}, shown, by);
    });
  }
  const auto lock = open(request, {runtime.clock, log});
  if (!lock) return link.tell(Refused{lock.error(), std::nullopt});
  const auto told = [&](TimePoint until) {
    return who_freed ? who_freed(request, {runtime.clock, log}, until) : std::string();
  };
  Keeping(link, **lock, request.spec, told, {runtime.clock, log}, processes).run();
  linger(link, runtime.clock, request.spec.ttl);
}

SessionGone failed(const std::string& whose, const std::exception& failure) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&failure) != nullptr;
  return {"the keeper" + whose + " cannot go on: " + failure_text(failure), true,
          memory ? ErrorCode::kSystem : ErrorCode::kInternal};
}

/// For an exception that keep() cannot catch: of a thread of a library, or where none may leave. A listener on the
/// descriptor is named; once we are on our own something else may have its number.
void end_with_reason() noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  const bool listened = getsockopt(kKeeperDescriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
  try {
    if (const auto thrown = std::current_exception(); thrown && listened) std::rethrow_exception(thrown);
  } catch (const std::exception& failure) {
    send_packet(kKeeperDescriptor, encode(event_message(failed("", failure))));
  } catch (...) {  // the supervisor says that we are gone
  }
  _exit(kStatusFailed);
}

}  // namespace

int keep(UniqueFd socket, const OpenLockDriver& open, const Runtime& runtime, Processes& processes,
         const AskHolders& ask, const WhoFreed& who_freed) {
  SupervisorLink link(std::move(socket));
  const auto request = first_request(link, runtime.clock);
  try {
    if (request) keep_lock(link, *request, open, ask, who_freed, runtime, processes);
  } catch (const std::exception& failure) {
    link.tell(failed(" of " + request->url.redacted(), failure));
    return kStatusFailed;
  }
  return link.nonsense() ? kStatusFailed : 0;
}

int run_keeper(const OpenLockDriver& open, const AskHolders& ask, const WhoFreed& who_freed, std::size_t memory) {
  limit_memory(memory);
  std::set_terminate(end_with_reason);
  const SignalsBlocked blocked;  // a signal to all processes of a service is for dlock and the command
  stop_blocking_stderr();
  SystemClock clock;
  const Log log(Log::Style{.quiet = true});
  SystemProcesses processes;
  return keep(UniqueFd(kKeeperDescriptor), open, {clock, log}, processes, ask, who_freed);
}

}  // namespace dlock
