// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cmd/options/options.h"
#include "lib/base/runtime.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"
#include "lib/stock/stock.h"

namespace dlock {

/// A program that does what this one cannot, for its backend is not inside it.
struct OtherProgram {
  std::string path;
};

/// Where the locks of one URL are taken.
struct Store {
  BackendUrl url;
  std::string name;  ///< redacted URL
  OpenSession open;  ///< outlives its sessions
  bool has_keeper;   ///< each lock has a keeper program
};

/// CMD and its arguments, or the shell with -c STR, as execve takes it; empty: nothing is to run. Points into
/// `options`, which outlives it.
std::vector<char*> command_line(const Options& options);
/// command_name() of what is to run; empty: nothing is.
std::string name_of_command(const Options& options);

/// The address space in bytes that this program may have while it asks a store; 0: no limit.
std::size_t memory_for_stores();

/// Unsupported, with the package to install, when the family's program is missing: it is looked for beside this program
/// (../libexec/dlock/), then where it was meant to be installed. Asks no server.
Result<Store> open_store(const BackendUrl& url, const Runtime& runtime);
/// For commands that supervise nothing: the backend, or the program to be this command line in our place.
Result<std::variant<std::unique_ptr<LockAdmin>, OtherProgram>> open_admin(const BackendUrl& url,
                                                                          const Runtime& runtime);
/// The same when part of a stock is to be kept: always by a program, which is not asked whether it can.
Result<Store> open_stock_keeper(const BackendUrl& url, const Runtime& runtime);

/// The stocks of one URL, which are always a keeper program's: this one, or another.
Result<std::variant<std::unique_ptr<Stock>, OtherProgram>> open_stock(const BackendUrl& url, const Runtime& runtime);

/// How this program takes and keeps a lock of `url` itself; empty in dlock, which needs no keeper for what it has
/// inside.
using KeepLock = std::function<Result<std::unique_ptr<LockDriver>>(const LockSpec&, const Runtime&)>;
KeepLock keep_here(const BackendUrl& url);

/// The error of a run with this URL whose package is missing; nullopt: it is there.
std::optional<Error> not_installed(const BackendUrl& url);

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
Result<std::unique_ptr<LockSession>> open_locks(const Store& store, const Options& options, Intent intent,
                                                const char* held, const Runtime& runtime);

}  // namespace dlock
