// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/compose.h"

#include <unistd.h>

#include <algorithm>

#include "backends/registry.h"
#include "lib/base/process.h"
#include "lib/keeper/keeper_session.h"
#include "lib/lock/held_claims.h"
#include "lib/lock/lease.h"
#include "lib/lock/multi_lock.h"
#include "lib/lock/once_session.h"
#include "lib/lock/patience.h"

namespace dlock {
namespace {

std::string find_program(const BackendUrl& url) {
  const std::string file = "/dlock-" + std::string(url.family);
  for (const std::string& folder : {own_folder() + "/../libexec/dlock", std::string(DLOCK_LIBEXECDIR)}) {
    const std::string path = folder + file;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

const RegisteredBackend* find_built_in(const BackendUrl& url) {
  for (const RegisteredBackend& row : registered_backends()) {
    if (url.family == row.family) return &row;
  }
  return nullptr;
}

Result<std::string> need_program(const BackendUrl& url) {
  if (std::string program = find_program(url); !program.empty()) return program;
  const std::string family(url.family);
  const std::string package = url.is_local() ? "dlock" : "dlock-" + family;
  const std::string places = own_folder() + "/../libexec/dlock and " + DLOCK_LIBEXECDIR;
  return Error{ErrorCode::kUnsupported,
               "backend '" + family + "' is not installed, and " + url.redacted() + " needs it: there is no dlock-" +
                   family + " in " + places,
               "install it with: apt install " + package};
}

/// By `open`, a member of the rows of this program, if it is there; else in the program that has the backend.
template <typename Port, typename Open>
Result<Opened<Port>> open_port(const BackendUrl& url, Open open, const Runtime& runtime) {
  if (const RegisteredBackend* here = find_built_in(url); here && here->*open) {
    TRY_ASSIGN(auto port, (here->*open)(url, runtime));
    return Opened<Port>(std::move(port));
  }
  TRY_ASSIGN(const auto program, need_program(url));
  return Opened<Port>(OtherProgram{program});
}

constexpr Duration kSlotGrace = std::chrono::seconds(1);

/// `lock`, under which its slot runs once. The slot is another lock of the same store.
std::unique_ptr<LockSession> once_session(const Store& store, const LockPlan& plan, std::unique_ptr<LockSession> lock,
                                          const Runtime& runtime) {
  const auto open = [=, &plan, &runtime](OnceSession::Wants wants, std::optional<TimePoint> deadline) {
    const TimePoint now = runtime.clock.now();
    LockSpec slot = plan.locks.front();
    slot.name = plan.once->slot;
    slot.owner = Owner::random();
    slot.ttl = slot.at_least = plan.once->remember;
    slot.lock_delay = Duration(0);
    slot.take = wants == OnceSession::Wants::kTake;
    slot.wait = plan.wait.from(now);
    slot.wait.tries = 1;
    if (slot.take) {  // what has run is remembered over an outage, however short the wait may be
      slot.wait.once = false;
      slot.wait.until.reset();
      const SupervisionPolicy& end = plan.supervision;
      const Duration left = deadline ? term_at(*deadline, end.ttl, end.kill_after) - now : Duration(0);
      slot.wait.connect_timeout = std::max(connect_timeout_of(slot.wait), left);
    }
    // Of a keeper that says nothing, too.
    if (!slot.wait.once) slot.wait.until = earlier(slot.wait.until, now + connect_timeout_of(slot.wait) + kSlotGrace);
    return store.open(slot);
  };
  return std::make_unique<OnceSession>(std::move(lock), *plan.once, open, runtime.clock, runtime.log);
}

}  // namespace

std::size_t memory_for_stores() { return memory_of_keeper(); }

bool may_crash() { return client_may_crash(); }

Result<Store> open_store(const BackendUrl& url, const Runtime& runtime) {
  const RegisteredBackend* here = find_built_in(url);
  if (here && here->sessions) return Store{url, url.redacted(), here->sessions(url, runtime), false};
  return open_stock_keeper(url, runtime);
}

Result<Store> open_stock_keeper(const BackendUrl& url, const Runtime& runtime) {
  const auto program = need_program(url);
  if (!program) return program.error();
  const auto open = [url, runtime, program = *program](const LockSpec& spec) -> Result<std::unique_ptr<LockSession>> {
    return std::unique_ptr<LockSession>(
        std::make_unique<KeeperSession>(program, url, spec, runtime.clock, runtime.log.style()));
  };
  return Store{url, url.redacted(), open, true};
}

Result<Opened<LockAdmin>> open_admin(const BackendUrl& url, const Runtime& runtime) {
  return open_port<LockAdmin>(url, &RegisteredBackend::admin, runtime);
}

Result<Opened<Stock>> open_stock(const BackendUrl& url, const Runtime& runtime) {
  const RegisteredBackend* here = find_built_in(url);
  if (here && here->drive && !here->stock) return no_stock_in(url);
  return open_port<Stock>(url, &RegisteredBackend::stock, runtime);
}

std::optional<Error> not_installed(const BackendUrl& url) {
  if (find_built_in(url)) return std::nullopt;
  const auto program = need_program(url);
  return program ? std::nullopt : std::optional(program.error());
}

KeepLock keep_here(const BackendUrl& url) {
  const RegisteredBackend* here = find_built_in(url);
  if (!here || !here->drive) return {};
  return [=](const LockSpec& spec, const Runtime& runtime) { return here->drive(url, spec, runtime); };
}

Result<StockClients> open_stock_clients(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto store, open_stock(url, runtime));
  if (const auto* other = std::get_if<OtherProgram>(&store)) return StockClients{other->path, {}};
  const RegisteredBackend* here = find_built_in(url);
  return StockClients{{}, [=](const Runtime& own) { return here->stock(url, own); }};
}

Result<std::unique_ptr<LockSession>> open_locks(const Store& store, const LockPlan& plan, const char* held,
                                                const Runtime& runtime) {
  const WaitPolicy wait = plan.wait.from(runtime.clock.now());
  std::vector<std::unique_ptr<LockSession>> sessions;
  for (LockSpec spec : plan.locks) {
    spec.owner = Owner::random();
    spec.wait = wait;
    if (held) spec.ancestor = find_claim(held, store.name, spec.name);
    TRY_ASSIGN(auto session, store.open(spec));
    sessions.push_back(std::move(session));
  }
  if (plan.once) return once_session(store, plan, std::move(sessions.front()), runtime);
  if (sessions.size() == 1) return std::move(sessions.front());
  return std::unique_ptr<LockSession>(std::make_unique<MultiLock>(std::move(sessions)));
}

}  // namespace dlock
