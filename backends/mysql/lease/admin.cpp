// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/lease/admin.h"

#include "backends/mysql/connection/admin.h"
#include "backends/mysql/rows/rows.h"

namespace dlock::mysql {

LeaseAdmin::LeaseAdmin(Settings settings, Servers servers, const Runtime& runtime)
    : dlock::RowAdmin(make_lock_rows(settings, servers.dial(), Duration(0), runtime), runtime),
      settings_(std::move(settings)),
      servers_(std::move(servers)) {}

std::vector<Finding> LeaseAdmin::diagnose() { return diagnose_servers(settings_, servers_.dial(), runtime_); }

Result<std::string> LeaseAdmin::set_up(bool print_only) {
  return mysql::set_up(settings_, servers_, print_only, soon().until);
}

}  // namespace dlock::mysql
