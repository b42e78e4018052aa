// SPDX-License-Identifier: Apache-2.0
#include "cmd/wiring/compose.h"

#include <unistd.h>

#include <climits>

#include "backends/registry.h"
#include "cmd/options/wait_policy.h"
#include "lib/config/url_schemes.h"
#include "lib/keeper/keeper_session.h"
#include "lib/lock/held_claims.h"
#include "lib/lock/multi_lock.h"

namespace dlock {
namespace {

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return {};
  const std::string_view whole(path, static_cast<std::size_t>(length));
  return std::string(whole.substr(0, whole.rfind('/')));
}

/// The program of that family; for a keeper the one that loads least and will do.
std::string find_program(const BackendUrl& url, Role role) {
  struct Kind {
    const char* folder;
    bool fit;
  };
  const bool keeper = role == Role::kKeeper;
  const Kind kinds[] = {{"/direct", keeper && is_direct(url)}, {"/plain", keeper && !speaks_tls(url)}, {"", true}};
  const std::string file = std::string("/dlock-") + family_name(url.family);
  for (const std::string& folder : {own_folder() + "/../libexec/dlock", std::string(DLOCK_LIBEXECDIR)}) {
    for (const Kind& kind : kinds) {
      const std::string path = folder + kind.folder + file;
      if (kind.fit && access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return {};
}

const RegisteredBackend* find_built_in(const BackendUrl& url) {
  for (const RegisteredBackend& row : registered_backends()) {
    if (url.scheme == row.scheme) return &row;
  }
  return nullptr;
}

Result<std::unique_ptr<LockSession>> open_one(Store& store, const LockSpec& spec, const Runtime& runtime) {
  if (store.backend) return store.backend->open(spec);
  return std::unique_ptr<LockSession>(
      std::make_unique<KeeperSession>(store.program, store.url, spec, runtime.clock, runtime.log.style()));
}

Result<Store> store_of_program(const BackendUrl& url, Role role) {
  Store store{url, nullptr, find_program(url, role), url.redacted()};
  if (!store.program.empty()) return store;
  const std::string family = family_name(url.family);
  const std::string package = url.family == Family::kLocal ? "dlock" : "dlock-" + family;
  return Error{ErrorCode::kUnsupported, "backend '" + family + "' is not installed, and " + store.name + " needs it",
               "install it with: apt install " + package};
}

LockSpec make_spec(const Options& options, const LockName& name, const WaitPolicy& wait) {
  LockSpec spec{.name = name, .owner = Owner::random(), .wait = wait, .reason = options.reason, .ancestor = {}};
  spec.mode = options.mode;
  spec.permits = options.permits;
  spec.fair = options.fair;
  spec.ttl = options.ttl;
  spec.renew_interval = options.renew_interval;
  spec.lock_delay = options.lock_delay;
  spec.kill_after = options.kill_after;
  spec.ends_command = options.on_lost.kind == OnLost::Kind::kTerm || options.on_lost.kind == OnLost::Kind::kKill;
  return spec;
}

}  // namespace

std::size_t memory_for_stores() { return memory_of_keeper(); }

Result<Store> open_store(const BackendUrl& url, Role role, const Runtime& runtime) {
  Store store{url, nullptr, {}, url.redacted()};
  if (const RegisteredBackend* built_in = find_built_in(url)) {
    auto backend = built_in->make(url, runtime);
    if (!backend) return backend.error();
    store.backend = std::move(*backend);
    store.name = store.backend->store();
    return store;
  }
  return store_of_program(url, role);
}

Result<Store> open_stock_keeper(const BackendUrl& url) { return store_of_program(url, Role::kKeeper); }

Result<StockStore> open_stock(const BackendUrl& url, const Runtime& runtime) {
  const RegisteredBackend* here = find_built_in(url);
  if (here && here->keep && !here->stock) return no_stock_in(url);
  if (here && here->stock) {
    auto stock = here->stock(url, runtime);
    if (!stock) return stock.error();
    return StockStore{std::move(*stock), {}};
  }
  auto keeper = store_of_program(url, Role::kCommands);
  if (!keeper) return keeper.error();
  return StockStore{nullptr, keeper->program};
}

KeepLock keep_here(const BackendUrl& url) {
  const RegisteredBackend* here = find_built_in(url);
  if (!here || !here->keep) return {};
  return [=](const LockSpec& spec, const Runtime& runtime) { return here->keep(url, spec, runtime); };
}

Result<StockClients> open_stock_clients(const BackendUrl& url, const Runtime& runtime) {
  auto store = open_stock(url, runtime);
  if (!store) return store.error();
  if (!store->stock) return StockClients{store->program, {}, {}};
  const RegisteredBackend* here = find_built_in(url);
  return StockClients{{}, [=](const Runtime& own) { return here->stock(url, own); }, keep_here(url)};
}

Result<std::unique_ptr<LockSession>> open_locks(Store& store, const Options& options, Intent intent, const char* held,
                                                const Runtime& runtime) {
  const WaitPolicy wait = wait_policy(options, runtime.clock.now());
  std::vector<std::unique_ptr<LockSession>> sessions;
  for (const LockName& name : options.keys) {
    LockSpec spec = make_spec(options, name, wait);
    if (options.stock) spec.stock = options.stock->claim;
    spec.take = intent == Intent::kTake;
    if (held) spec.ancestor = find_claim(held, store.name, name);
    auto session = open_one(store, spec, runtime);
    if (!session) return session.error();
    sessions.push_back(std::move(*session));
  }
  if (sessions.size() == 1) return std::move(sessions.front());
  return std::unique_ptr<LockSession>(std::make_unique<MultiLock>(std::move(sessions)));
}

}  // namespace dlock
