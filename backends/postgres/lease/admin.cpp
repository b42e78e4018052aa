// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/lease/admin.h"

#include "backends/postgres/connection/doctor.h"
#include "backends/postgres/connection/schema.h"
#include "backends/postgres/rows/rows.h"

namespace dlock::postgres {

PostgresAdmin::PostgresAdmin(std::shared_ptr<Servers> servers, const RowSpace& space, const Runtime& runtime)
    : RowAdmin(make_rows(servers, space), runtime), servers_(std::move(servers)) {}

std::vector<Finding> PostgresAdmin::diagnose() { return diagnose_servers(servers_->settings(), runtime_); }

Result<std::string> PostgresAdmin::set_up(bool print_only) {
  return print_only ? setup_script() : postgres::set_up(*servers_, soon());
}

}  // namespace dlock::postgres
