// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/lease/record.h"
#include "lib/base/result.h"

namespace dlock::mysql {

/// A session whose transaction has locked a row. Fields that the server does not give are 0 or empty.
struct RowBlocker {
  std::uint64_t session = 0;
  std::string user;
  std::string host;                 ///< "10.0.0.7:50630"
  std::optional<ServerTime> since;  ///< when its transaction began

  bool operator==(const RowBlocker&) const = default;
};

/// The sessions that hold the rows for which `locking_query` (SELECT ... FOR UPDATE) would wait. A server reports who
/// blocks a waiter, but nothing of a row without waiters: so a connection of our own waits for it briefly, last in the
/// queue. Empty: no session holds them any more, or the server does not report it. Denied, naming the right: this
/// account may not see it.
Result<std::vector<RowBlocker>> row_blockers(Servers& servers, const std::string& locking_query, TimePoint until);

}  // namespace dlock::mysql
