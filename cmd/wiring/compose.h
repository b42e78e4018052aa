// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cmd/wiring/lock_plan.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The keeper program that has the backend of a URL inside, when this one has not: the caller executes it in its own
/// place, with the same command line.
struct OtherProgram {
  std::string path;
};
template <typename Port>
using Opened = std::variant<std::unique_ptr<Port>, OtherProgram>;

/// Where the locks of one URL are taken.
struct Store {
  BackendUrl url;
  std::string name;  ///< redacted URL
  OpenSession open;  ///< outlives its sessions
  bool has_keeper;   ///< each lock has a keeper program
};

/// The address space in bytes that this program may have while it asks a store; 0: no limit.
std::size_t memory_for_stores();

/// Whether this program may crash on what a store sends.
bool may_crash();

/// For commands that take locks. Asks no server. Unsupported, with the package to install, if the keeper program is
/// neither beside this program (../libexec/dlock/) nor where it was meant to be installed.
Result<Store> open_store(const BackendUrl& url, const Runtime& runtime);
/// For commands that take no lock. Fails as open_store() does.
Result<Opened<LockAdmin>> open_admin(const BackendUrl& url, const Runtime& runtime);
/// For `dlock stock run`: what is set aside is always kept by a keeper program, which finds out whether that store has
/// stocks.
Result<Store> open_stock_keeper(const BackendUrl& url, const Runtime& runtime);

/// The stocks of one URL. Only keeper programs have stocks inside: this one, if it is one, or the one that is named.
Result<Opened<Stock>> open_stock(const BackendUrl& url, const Runtime& runtime);

/// Opens a lock of `url` that this process keeps itself, as a keeper would. Empty in dlock, where locks are taken by
/// Store::open.
using KeepLock = std::function<Result<std::unique_ptr<LockDriver>>(const LockSpec&, const Runtime&)>;
KeepLock keep_here(const BackendUrl& url);

/// The error that a run with this URL would end with because a package is missing; nullopt if none is.
std::optional<Error> not_installed(const BackendUrl& url);

/// Client factory of `dlock bench stock`: each of its processes calls connect() for a client of its own.
struct StockClients {
  std::string program;  ///< the keeper program to execute instead; then nothing else is set. Empty: this one will do
  std::function<Result<std::unique_ptr<Stock>>(const Runtime&)> connect;
};
Result<StockClients> open_stock_clients(const BackendUrl& url, const Runtime& runtime);

/// One session for all locks of the plan, which outlives it; nothing is asked of the store before its acquire(). `held`
/// is the text of DLOCK_HELD, null without that variable. Fails with Unsupported if the store cannot do what the plan
/// asks.
Result<std::unique_ptr<LockSession>> open_locks(const Store& store, const LockPlan& plan, const char* held,
                                                const Runtime& runtime);

}  // namespace dlock
