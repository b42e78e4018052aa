// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/sql_text.h"

#include "lib/base/text.h"

namespace dlock::mysql {
std::string literal(std::string_view bytes) { return "x'" + hex(bytes) + "'"; }

std::string identifier(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + "`";
}

}  // namespace dlock::mysql
