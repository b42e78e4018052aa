// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/lock/admin_common.h"
#include "lib/lock/lock_admin.h"

namespace dlock::mysql {

/// Creates the missing tables, or prints how. Misconfigured for a table of another version.
Result<std::string> set_up(const Settings& settings, Servers& servers, bool print_only, TimePoint until);

/// The part of LockAdmin that is the same for all strategies but the lease. Each call is bounded by the runtime's
/// patience.
class MysqlAdmin : public AdminCommon {
 public:
  const std::string& store() const final { return settings_.store; }
  /// sweep(), and the records that are forgotten (record.h).
  Result<std::vector<Swept>> collect_garbage(bool dry_run) final;
  std::vector<Finding> diagnose() final;
  Result<std::string> set_up(bool print_only) final;

 protected:
  MysqlAdmin(Settings settings, Servers servers, const Runtime& runtime)
      : AdminCommon(runtime.clock), settings_(std::move(settings)), runtime_(runtime), servers_(std::move(servers)) {}

  /// Leavings of dead holders of this strategy, beside the rows of free locks.
  virtual Result<std::vector<Swept>> sweep(bool dry_run) = 0;

  TimePoint soon() const { return runtime_.clock.now() + runtime_.patience; }
  Result<Answer> run(const std::string& statement) { return servers_.run(statement, soon()); }

  const Settings settings_;
  const Runtime runtime_;
  Servers servers_;
};

/// The variables of one server by name, in lower case. MySQL and MariaDB have different ones.
using Variables = std::map<std::string, std::string>;

/// Judges one server by its variables. Pure. `alone`: the URL names no other server.
std::vector<Finding> judge_variables(const std::string& server, const Variables& variables, Strategy strategy,
                                     bool alone);

/// Asks and judges every server of the URL: reachable, encrypted, version, clock, settings that endanger locks, tables,
/// rights.
std::vector<Finding> diagnose_servers(const Settings& settings, const Dial& dial, const Runtime& runtime);

}  // namespace dlock::mysql
