// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/lease/admin.h"

#include "backends/postgres/connection/doctor.h"
#include "backends/postgres/connection/schema.h"
#include "backends/postgres/rows/rows.h"
#include "lib/base/text.h"
#include "lib/lock/lock_errors.h"

namespace dlock::postgres {

PostgresAdmin::PostgresAdmin(std::shared_ptr<Servers> servers, const RowSpace& space, const Runtime& runtime)
    : RowAdmin(make_rows(servers, space), runtime),
      servers_(servers),
      fences_(make_rows(std::move(servers), {.name = "fence"})) {}

Result<UniqueFd> PostgresAdmin::fence(const LockName& resource, FencingToken token, const WaitPolicy& /*wait*/) {
  const std::string key = "token";
  while (true) {
    TRY_ASSIGN(const auto look, fences_->read(resource, {&key, 1}, soon()));
    const Rows::Row& row = look.rows.front();
    const auto seen = leading_number<std::uint64_t>(row.text);
    if (seen > token.value()) return token_too_old(resource, token, std::to_string(seen));
    const Rows::Commit higher{{Rows::Change::Kind::kPut, key, row.version, token.text()}};
    TRY_ASSIGN(const auto done, fences_->commit(resource, higher, soon()));
    if (done) return UniqueFd();
  }
}

std::vector<Finding> PostgresAdmin::diagnose() { return diagnose_servers(servers_->settings(), runtime_); }

Result<std::string> PostgresAdmin::set_up(bool print_only) {
  return print_only ? setup_script() : postgres::set_up(*servers_, soon());
}

}  // namespace dlock::postgres
