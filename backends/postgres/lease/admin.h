// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/postgres/connection/servers.h"
#include "lib/row_lock/row_admin.h"

namespace dlock::postgres {

/// For commands that supervise nothing: strategy=lease, and what both strategies have in common.
class PostgresAdmin : public RowAdmin {
 public:
  PostgresAdmin(std::shared_ptr<Servers> servers, const RowSpace& space, const Runtime& runtime);

  std::vector<Finding> diagnose() final;
  /// Creates what is missing. Misconfigured for what is there of another version.
  Result<std::string> set_up(bool print_only) final;

 protected:
  const std::shared_ptr<Servers> servers_;
};

}  // namespace dlock::postgres
