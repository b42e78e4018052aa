// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// What some codes of a server's errors mean to users of dlock: a row of a store's table.
struct Meaning {
  ErrorCode code;
  const char* said;   ///< before the server's own words; '%' is its name
  const char* next;   ///< what to do
  const char* codes;  ///< with a space between two; "57*": all that begin so
};

/// The first row that has `code`, or nullptr.
const Meaning* find_meaning(std::span<const Meaning> table, std::string_view code);

Error error_of(const Meaning& meaning, const std::string& server, const std::string& words);

/// A code that no table has: of an end of the connection, or of a refusal for good.
Error error_without_meaning(bool cut_off, const std::string& server, const std::string& words);

/// What a client library says in words alone of TLS that has failed, `text` and `said` (the same for people). Denied:
/// the server has refused our certificate. Unavailable: the connection broke. Misconfigured: all else, because it would
/// be so again. `theirs`: what to do about the server's certificate.
Error error_of_tls(std::string_view text, const std::string& server, const std::string& said, const char* theirs);
Error refused_certificate(const std::string& server, const std::string& said);

}  // namespace dlock
