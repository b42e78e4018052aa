// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/key_memory.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"
#include "lib/rows/rows.h"
#include "lib/stock/stock.h"

namespace dlock {

struct RegisteredBackend {
  std::string_view family;  ///< of the URLs
  Result<std::unique_ptr<LockAdmin>> (*admin)(const BackendUrl&, const Runtime&);
  /// In dlock itself: the sessions of a backend that needs no keeper. Null in keeper programs.
  OpenSession (*sessions)(const BackendUrl&, const Runtime&);
  /// In a keeper program: one lock to take and keep. Null in dlock itself, and in a program that is for stocks alone.
  Result<std::unique_ptr<LockDriver>> (*drive)(const BackendUrl&, const LockSpec&, const Runtime&);
  /// The stocks of a keeper program. Null where there are none, and in dlock itself.
  Result<std::unique_ptr<Stock>> (*stock)(const BackendUrl&, const Runtime&);
  /// Its rows, on which the stocks are. Null where there are no stocks.
  Result<std::unique_ptr<Rows>> (*rows)(const BackendUrl&, const RowSpace&, const Runtime&);
  /// What it remembers beside its locks, on rows too. Null where these are for stocks alone.
  Result<std::unique_ptr<KeyMemory>> (*memory)(const BackendUrl&, const Runtime&);
};

/// The backends inside this program. Each program has a definition of its own, made from backends/CMakeLists.txt.
std::span<const RegisteredBackend> registered_backends();

/// The address space in bytes that this program gets as a keeper, and while it asks a store (limit_memory()); 0 in
/// dlock itself, which asks none that could send too much.
std::size_t memory_of_keeper();

/// Whether a library of this program may crash on what a server sends.
bool client_may_crash();

}  // namespace dlock
