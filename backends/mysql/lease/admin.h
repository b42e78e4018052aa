// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/row_lock/row_admin.h"

namespace dlock::mysql {

/// strategy=lease for commands that supervise nothing: locks that are rows (lib/row_lock/row_admin.h).
class LeaseAdmin final : public dlock::RowAdmin {
 public:
  LeaseAdmin(Settings settings, Servers servers, const Runtime& runtime);

  std::vector<Finding> diagnose() override;
  Result<std::string> set_up(bool print_only) override;

 private:
  const Settings settings_;
  Servers servers_;
};

}  // namespace dlock::mysql
