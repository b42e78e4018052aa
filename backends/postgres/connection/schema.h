// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/postgres/connection/servers.h"
#include "lib/base/result.h"

namespace dlock::postgres {

inline constexpr char kTable[] = "dlock_rows";

/// The server's clock in µs since 1970 when a statement came in.
inline constexpr char kNow[] = "(extract(epoch FROM statement_timestamp())*1000000)::bigint";

/// Text of `dlock setup --print`: the statements, and the least privileges of an account.
std::string setup_script();

/// Creates what is missing, in the first schema of the account's search path. Misconfigured for what is there of
/// another version.
Result<std::string> set_up(Servers& servers, const CallLimit& limit);

/// Whether what is there is what this dlock needs. Denied where this account may not see it.
Result<void> check_schema(Servers& servers, const CallLimit& limit);

}  // namespace dlock::postgres
