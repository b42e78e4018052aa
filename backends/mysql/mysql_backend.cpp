// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/mysql_backend.h"

#include "backends/mysql/connector_database.h"
#include "backends/mysql/lease_backend.h"
#include "backends/mysql/lease_lock.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;

Error not_yet(mysql::Strategy strategy) {
  return {ErrorCode::kUnsupported, "strategy=" + std::string(mysql::strategy_name(strategy)) + " is not there yet"};
}

}  // namespace

Result<std::unique_ptr<Backend>> make_mysql_backend(const BackendUrl& url, const Runtime& runtime) {
  auto settings = mysql::settings_of(url, kConnectTimeout);
  if (!settings) return settings.error();
  if (settings->strategy != mysql::Strategy::kLease) return not_yet(settings->strategy);
  return std::unique_ptr<Backend>(
      std::make_unique<mysql::LeaseBackend>(std::move(*settings), mysql::connect_by_connector, runtime));
}

Result<std::unique_ptr<KeptLock>> keep_mysql_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  auto settings = mysql::settings_of(url, spec.wait.connect_timeout > 0s ? spec.wait.connect_timeout : kConnectTimeout);
  if (!settings) return settings.error();
  if (settings->strategy != mysql::Strategy::kLease) return not_yet(settings->strategy);
  return std::unique_ptr<KeptLock>(
      std::make_unique<mysql::LeaseLock>(std::move(*settings), mysql::connect_by_connector, spec, runtime));
}

}  // namespace dlock
