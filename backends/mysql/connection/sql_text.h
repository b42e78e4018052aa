// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace dlock::mysql {

/// `bytes` as a literal that means those bytes on every server, whatever its sql_mode and character set: x'6b6579'.
/// The only way in which text from outside gets into statements.
std::string literal(std::string_view bytes);

/// `name` between backticks. REQUIRES: it was checked to be a name.
std::string identifier(std::string_view name);

/// The name of a named lock, as an SQL expression: within 64 ASCII characters, of this database, one for each
/// (kind, name).
std::string named_lock(std::string_view kind, std::string_view name);

/// The server's clock in UTC, as µs since 1970: independent of time zones, fixed when the statement begins.
inline constexpr char kServerMicroseconds[] = "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))";

/// 1 on a server where only accounts with special rights may write. "+0", because beside an aggregate MariaDB gives 0
/// for the bare variable as soon as there is a row.
inline constexpr char kReadOnly[] = "@@global.read_only+0";
/// 1 where the server is a node of a Galera cluster, whose named locks and row locks are its own; else 0 or NULL. Every
/// session sets it when it begins.
inline constexpr char kGalera[] = "@dlock_galera";
/// Gives back all named locks of the session.
inline constexpr char kReleaseNamedLocks[] = "DO IF(@dlock_galera,0,RELEASE_ALL_LOCKS())";
inline constexpr char kUnlessReadOnly[] = " AND @@global.read_only=0";  ///< ends the condition of a change

/// Sent before a transaction: on such a server, the transaction then may change nothing, whatever rights the account
/// has. MySQL has another name for the variable; it reads the second comment, MariaDB the first.
inline constexpr char kMindReadOnly[] =
    "SET SESSION /*M! tx_read_only*//*!50720 transaction_read_only*/=@@global.read_only";

/// The moment `ttl` from now by the server's clock, as a DATETIME expression.
std::string end_after(Duration ttl);

}  // namespace dlock::mysql
