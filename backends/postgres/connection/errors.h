// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock::postgres {

/// Why a statement, or the connection, has failed.
struct Failure {
  std::string state;       ///< SQLSTATE; empty: it was not the server that said so
  std::string text;        ///< in the server's words, or those of libpq
  bool cut_off = false;    ///< the connection is gone; whether the statement was carried out is not known
  bool timed_out = false;  ///< cut off because our own time was over
};

/// What `failure` of `server` means to users of dlock.
Error error_of(const Failure& failure, const std::string& server);

/// Another transaction was in the way (40001, 40P01, 55P03): the same statement may succeed if it is sent again. Not
/// inside of a transaction, which is over.
bool is_worth_repeating(const Failure& failure);

/// A standby, or a server whose administrator lets nobody write (25006).
bool is_read_only(const Failure& failure);

bool is_refused_login(const Failure& failure);

/// The SQLSTATE in a verbose message, "FATAL:  28P01: ...": libpq has no call for that of a failed connection.
std::string state_in(std::string_view message);

}  // namespace dlock::postgres
