// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/backend.h"

#include "backends/postgres/bound/admin.h"
#include "backends/postgres/bound/lock.h"
#include "backends/postgres/lease/admin.h"
#include "backends/postgres/rows/rows.h"
#include "lib/lock/lock_errors.h"
#include "lib/row_lock/row_lock.h"

namespace dlock {

Result<std::unique_ptr<LockAdmin>> make_postgres_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto settings, postgres::settings_of(url));
  const bool lease = settings.strategy == postgres::Strategy::kLease;
  auto servers = std::make_shared<postgres::Servers>(std::move(settings), runtime.clock);
  if (!lease) return std::unique_ptr<LockAdmin>(std::make_unique<postgres::BoundAdmin>(std::move(servers), runtime));
  return std::unique_ptr<LockAdmin>(std::make_unique<postgres::PostgresAdmin>(std::move(servers), kLockSpace, runtime));
}

Result<std::unique_ptr<LockDriver>> keep_postgres_lock(const BackendUrl& url, const LockSpec& spec,
                                                       const Runtime& runtime) {
  TRY_ASSIGN(auto settings, postgres::settings_of(url));
  if (settings.strategy == postgres::Strategy::kLease) {
    TRY_ASSIGN(auto rows, make_postgres_rows(url, kLockSpace, runtime));
    return std::unique_ptr<LockDriver>(std::make_unique<RowLock>(std::move(rows), spec, runtime));
  }
  if (spec.left_to == 0 || spec.at_least > Duration(0)) return postgres::lives_with_its_connection();
  TRY(check_exclusive_only(spec, settings.store));
  TRY(postgres::check_ttl(spec.ttl));
  std::string store = settings.store;
  return std::unique_ptr<LockDriver>(std::make_unique<PolledLock>(
      std::make_unique<postgres::BoundLock>(std::move(settings), spec, runtime), spec, std::move(store), runtime));
}

}  // namespace dlock
