// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/mysql/connection/database.h"
#include "lib/base/result.h"

namespace dlock::mysql {

inline constexpr int kTlsError = 2026;
inline constexpr int kAborted = 1184;  ///< the server ended a new session: as a rule its init_connect has failed
// Numbers that no server has.
/// The answer was longer than DatabaseSettings::longest_answer.
inline constexpr int kTooMuch = -1;
/// The server wants the password by a login method that would reveal it; the text names the method.
inline constexpr int kLoginRefused = -2;
/// The server has ended two connections behind our certificate, without a word.
inline constexpr int kUnanswered = -3;

/// Whether the connection is gone, and the outcome therefore unknown: lost or refused connections, KILL, shutdown, idle
/// sessions that were ended.
bool is_cut_off(int code);

/// Whether the server, having seen our certificate, may have ended the connection for that.
bool may_be_refused(const Failure& failure);

/// Whether the same statement may succeed a moment later: a deadlock or a lock wait that the server ended, an
/// interrupted wait. Nothing was changed.
bool is_worth_repeating(int code);

/// Whether another transaction has locked the row (one of the codes that are worth repeating).
bool is_locked_row(int code);

/// Whether the server takes no changes: a replica, or a primary that is being relieved.
bool is_read_only(int code);

/// The failure of a statement that changed nothing because its own condition (kUnlessReadOnly) found such a server.
Failure read_only_is_set();

/// Whether the server, or a pooler before it, refuses GET_LOCK (Galera).
bool is_without_named_locks(int code);

/// Whether a table or a column that dlock needs is missing.
bool is_wrong_table(int code);

constexpr int kAccessDenied = 1045;
constexpr int kLockWait = 1205;
constexpr int kDuplicateKey = 1062;
constexpr int kNullValue = 1048;   ///< where the table wants one
constexpr int kOutOfRange = 1690;  ///< a number that its type cannot hold

/// The error for users of dlock that `failure` means, by its code; names `server`.
Error error_of(const Failure& failure, const std::string& server);
/// The same of a login, where an error of TLS tells of certificates and keys. Later it tells of a line that broke.
Error error_of_login(const Failure& failure, const std::string& server);

}  // namespace dlock::mysql
