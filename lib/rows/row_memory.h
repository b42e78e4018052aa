// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/lock/key_memory.h"
#include "lib/lock/lock_admin.h"
#include "lib/rows/rows.h"

namespace dlock {

/// The rows of what is remembered of a key, whose group is the key. What was written counts, confirmed or not; a write
/// is repeated until it is confirmed:
///
///   fence        "seen TOKEN": the highest token that was shown for a resource of this name. It stays
///   slot/SLOT    "REMEMBER_US OWNER WHO" (who_text.h): it has run when this row was written, and how
///   freed/OWNER  who has freed the lock of OWNER by force, and why; over after an hour
///   sweep        "at US": nothing of the above is worth a sweep before then. Written with each slot, so that who has
///                seen the same version twice knows that none came in between
inline constexpr RowSpace kKeySpace{.name = "key", .sure_reads = false};

/// The memory of a store that keeps rows, those of kKeySpace.
std::unique_ptr<KeyMemory> row_memory(std::unique_ptr<Rows> rows, Clock& clock);

/// The same at a URL, and the LockAdmin of a store with it, where its rows are for locks: for the registries of
/// programs.
template <auto make_rows>
Result<std::unique_ptr<KeyMemory>> memory_on(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto rows, make_rows(url, kKeySpace, runtime));
  return row_memory(std::move(rows), runtime.clock);
}
template <auto make_admin, auto make_rows>
Result<std::unique_ptr<LockAdmin>> admin_on(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto admin, make_admin(url, runtime));
  if (auto memory = memory_on<make_rows>(url, runtime)) admin->remember_in(std::move(*memory), runtime.patience);
  return admin;
}

}  // namespace dlock
