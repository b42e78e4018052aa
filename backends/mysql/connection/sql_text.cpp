// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/sql_text.h"

#include <chrono>

#include "lib/base/text.h"

namespace dlock::mysql {
std::string literal(std::string_view bytes) { return "x'" + hex(bytes) + "'"; }

std::string identifier(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + "`";
}

// As bytes: the name of a database is utf8mb3, and of a key with characters beyond that MariaDB would make none.
std::string named_lock(std::string_view kind, std::string_view name) {
  const std::string bytes = "\n" + std::string(kind) + "\n" + std::string(name);
  return "CONCAT('dlock:',LEFT(SHA2(CONCAT(CAST(DATABASE() AS BINARY)," + literal(bytes) + "),256),56))";
}

std::string end_after(Duration ttl) {
  return "UTC_TIMESTAMP(6)+INTERVAL " + std::to_string(std::chrono::ceil<std::chrono::microseconds>(ttl).count()) +
         " MICROSECOND";
}

}  // namespace dlock::mysql
