// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cmd/options/options.h"
#include "lib/base/runtime.h"
#include "lib/keeper/kept_lock.h"
#include "lib/lock/backend.h"
#include "lib/lock/lock_session.h"
#include "lib/stock/stock.h"

namespace dlock {

/// Where the locks of one URL are kept: a backend inside this program, or the program of its family.
struct Store {
  BackendUrl url;
  std::unique_ptr<Backend> backend;  ///< null when another program keeps the locks
  std::string program;               ///< that program's path, else empty
  std::string name;                  ///< redacted URL
};

/// The address space in bytes that this program may have while it asks a store; 0: no limit.
std::size_t memory_for_stores();

/// What another program is wanted for: to keep a lock for us, or to be this command line in our place.
enum class Role { kKeeper, kCommands };

/// Unsupported, with the package to install, when the family's program is missing: it is looked for beside this program
/// (../libexec/dlock/), then where it was meant to be installed. Asks no server.
Result<Store> open_store(const BackendUrl& url, Role role, const Runtime& runtime);
/// The same when part of a stock is to be kept: always by a program, which is not asked whether it can.
Result<Store> open_stock_keeper(const BackendUrl& url);

/// Where the stocks of one URL are kept. Always a keeper program; `stock` if it is this one.
struct StockStore {
  std::unique_ptr<Stock> stock;
  std::string program;
};
Result<StockStore> open_stock(const BackendUrl& url, const Runtime& runtime);

/// How this program takes and keeps a lock of `url` itself; empty in dlock, which needs no keeper for what it has
/// inside.
using KeepLock = std::function<Result<std::unique_ptr<KeptLock>>(const LockSpec&, const Runtime&)>;
KeepLock keep_here(const BackendUrl& url);

/// For a benchmark inside such a program: clients for as many processes as it likes.
struct StockClients {
  std::string program;  ///< to become, when it is another one; then nothing else is set
  std::function<Result<std::unique_ptr<Stock>>(const Runtime&)> connect;
  KeepLock lock;
};
Result<StockClients> open_stock_clients(const BackendUrl& url, const Runtime& runtime);

/// What to do about the locks that are named.
enum class Intent { kTake, kWaitUntilFree };

/// One session for all of options.keys, in canonical order. `held` is the text of DLOCK_HELD, or null. Unsupported if
/// the store cannot do what is asked.
Result<std::unique_ptr<LockSession>> open_locks(Store& store, const Options& options, Intent intent, const char* held,
                                                const Runtime& runtime);

}  // namespace dlock
