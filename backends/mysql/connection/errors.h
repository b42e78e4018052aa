// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/database.h"
#include "lib/base/result.h"

namespace dlock::mysql {

inline constexpr int kTlsError = 2026;
inline constexpr int kAborted = 1184;  ///< a new session, by the server: as a rule its init_connect has failed
/// Not numbers of servers: the answer was longer than is taken; the server wants the password in the way that the text
/// names, which would show it.
inline constexpr int kTooMuch = -1;
inline constexpr int kLoginRefused = -2;

/// True for codes after which the connection is gone, and with it the knowledge of what happened: lost or refused
/// connections, KILL, shutdown, idle sessions that were ended.
bool is_cut_off(int code);

/// The same statement may go through a moment later: a deadlock or a lock wait ended by the server, an interrupted
/// wait. Nothing was changed.
bool is_worth_repeating(int code);

/// Somebody else's transaction has the row (one of those that are worth repeating).
bool is_locked_row(int code);

/// The server takes no changes: a replica, or a primary that is being relieved.
bool is_read_only(int code);

/// What a statement reports that was kept from changing anything by such a server's setting.
Failure read_only_is_set();

/// GET_LOCK is refused here (Galera, poolers).
bool is_without_named_locks(int code);

/// A table or a column that dlock wants is missing.
bool is_wrong_table(int code);

/// A view of information_schema that this kind of server does not have.
bool is_unknown_view(int code);

constexpr int kDuplicateKey = 1062;
constexpr int kNullValue = 1048;   ///< where the table wants one
constexpr int kOutOfRange = 1690;  ///< a number that its type cannot hold

/// What it means to who uses dlock: the code decides, `server` is named.
Error error_of(const Failure& failure, const std::string& server);

}  // namespace dlock::mysql
