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

/// A session that has locked a row in its transaction. What the server does not tell is 0 or empty.
struct RowBlocker {
  std::uint64_t session = 0;
  std::string user;
  std::string host;                 ///< "10.0.0.7:50630"
  std::optional<ServerTime> since;  ///< when its transaction began

  bool operator==(const RowBlocker&) const = default;
};

/// Which sessions hold what `locking_query` (SELECT ... FOR UPDATE) would wait for. A server tells who blocks whom, and
/// nothing of a row that nobody waits for: so a connection of our own waits for it, for a moment, last in the queue.
/// Empty: nobody any more, or the server does not tell. Denied, naming the right: this account may not know.
Result<std::vector<RowBlocker>> row_blockers(Servers& servers, const std::string& locking_query, Clock& clock,
                                             TimePoint until);

}  // namespace dlock::mysql
