// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/postgres/connection/servers.h"
#include "lib/base/result.h"
#include "lib/lock/lock_name.h"
#include "lib/rows/rows.h"

namespace dlock::postgres {

/// Beside the locks of strategy=session, what lib/row_lock/record.h keeps beside others: tokens, and who holds them.
/// The lock itself is the server's advisory lock, and ends with its connection.
inline constexpr RowSpace kSessionSpace{.name = "session"};

/// The number of a key's advisory lock, as an SQL expression: the key itself if it is a whole number, else
/// hashtextextended(key, 0). Other programs that take the same number exclude us, and we them.
std::string lock_number(const LockName& name);

/// By which a session shows whose it is, to those who may see that.
std::string session_name(const std::string& owner);
/// The owner of a session that does not show that.
std::string unknown_owner(const std::string& backend);

struct HolderSession {
  std::string backend;  ///< the number of its server process
  std::string name;     ///< session_name(), or that of another program; empty if this account may not see it
};
/// The session that holds the advisory lock.
Result<std::optional<HolderSession>> holder_session(Servers& servers, const LockName& name, const CallLimit& limit);
/// Ends that session, if `owner` still is its owner; the number of its server process.
Result<std::optional<std::string>> end_holder_session(Servers& servers, const LockName& name, const std::string& owner,
                                                      const CallLimit& limit);

/// Unsupported for a ttl after which no server can be told to end a silent session.
Result<void> check_ttl(Duration ttl);

Error lives_with_its_connection();

}  // namespace dlock::postgres
