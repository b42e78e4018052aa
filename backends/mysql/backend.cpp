// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/backend.h"

#include "backends/mysql/bound/admin.h"
#include "backends/mysql/bound/lock.h"
#include "backends/mysql/connection/database.h"
#include "backends/mysql/lease/admin.h"
#include "backends/mysql/row/admin.h"
#include "backends/mysql/row/store.h"
#include "backends/mysql/rows/rows.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/patience.h"
#include "lib/row_lock/row_lock.h"

namespace dlock {
namespace {

/// Commands list what there is: some 100 000 locks.
constexpr std::size_t kLongestList = 16UL * 1024 * 1024;

/// The server's own queue is fair; everything else that is more than an exclusive lock needs the lease, and so does one
/// that is left to no process.
Result<void> check_bound(const LockSpec& spec, const mysql::Settings& settings) {
  if (spec.left_to == 0 || spec.at_least > Duration(0)) return mysql::lives_with_its_connection(settings.strategy);
  LockSpec queued = spec;
  queued.fair = false;
  return check_exclusive_only(queued, settings.store);
}

}  // namespace

Result<std::unique_ptr<LockAdmin>> make_mysql_admin(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto settings, mysql::settings_of(url, runtime.patience));
  for (mysql::DatabaseSettings& server : settings.servers) server.longest_answer = kLongestList;
  mysql::Servers servers(settings.servers, mysql::connect_by_connector, runtime.clock);
  using Admin = std::unique_ptr<LockAdmin>;
  switch (settings.strategy) {
    case mysql::Strategy::kLease:
      return Admin(std::make_unique<mysql::LeaseAdmin>(std::move(settings), std::move(servers), runtime));
    case mysql::Strategy::kSession:
    case mysql::Strategy::kRow:
      return Admin(std::make_unique<mysql::BoundAdmin>(std::move(settings), std::move(servers), runtime));
    case mysql::Strategy::kUnique:
    case mysql::Strategy::kOccupy:
      break;
  }
  return Admin(std::make_unique<mysql::RowAdmin>(std::move(settings), std::move(servers), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_mysql_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime) {
  using mysql::Strategy;
  TRY_ASSIGN(auto settings, mysql::settings_of(url, connect_timeout_of(spec.wait)));
  const mysql::Dial dial = mysql::connect_by_connector;
  switch (settings.strategy) {
    case Strategy::kLease:
      return std::unique_ptr<LockDriver>(std::make_unique<RowLock>(
          mysql::make_lock_rows(std::move(settings), dial, spec.ttl, runtime), spec, runtime));
    case Strategy::kSession:
    case Strategy::kRow:
      TRY(check_bound(spec, settings));
      return std::unique_ptr<LockDriver>(
          std::make_unique<mysql::ConnectionBoundLock>(std::move(settings), dial, spec, runtime));
    case Strategy::kUnique:
    case Strategy::kOccupy:
      break;
  }
  TRY(check_exclusive_only(spec, settings.store));
  std::string store = settings.store;
  return std::unique_ptr<LockDriver>(std::make_unique<PolledLock>(
      mysql::row_lock(std::move(settings), dial, spec, runtime), spec, std::move(store), runtime));
}

}  // namespace dlock
