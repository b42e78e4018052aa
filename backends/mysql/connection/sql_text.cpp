// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/sql_text.h"

#include <charconv>

#include "lib/base/entropy.h"

namespace dlock::mysql {
namespace {

template <typename Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string literal(std::string_view bytes) {
  return "x'" + hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}) + "'";
}

std::string identifier(std::string_view name) {
  std::string text = "`";
  for (const char c : name) text.append(c == '`' ? 2 : 1, c);
  return text + "`";
}

std::uint64_t unsigned_number(std::string_view text) { return number<std::uint64_t>(text); }
std::int64_t signed_number(std::string_view text) { return number<std::int64_t>(text); }

}  // namespace dlock::mysql
