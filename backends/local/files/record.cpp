// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/record.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/local/files/checksum.h"
#include "backends/local/files/rules.h"

namespace dlock::local {
namespace {

template <std::size_t kSize>
void put_text(char (&field)[kSize], std::string_view text) {
  std::size_t size = std::min(text.size(), kSize - 1);
  // Do not cut a UTF-8 sequence in two.
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  std::memset(field, 0, kSize);
  std::memcpy(field, text.data(), size);
}

int hex_value(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

std::string Record::owner_text() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * sizeof owner);
  for (const unsigned char byte : owner) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void Record::set_owner(const Owner& handle) {
  const std::string& text = handle.text();
  for (std::size_t i = 0; i < sizeof owner; ++i) {
    owner[i] = static_cast<unsigned char>(hex_value(text[2 * i]) * 16 + hex_value(text[2 * i + 1]));
  }
}

void Record::set_host(std::string_view text) { put_text(host, text); }
void Record::set_reason(std::string_view text) { put_text(reason, text); }

void seal(Record& record) { record.checksum = checksum_of(record); }

bool sound(const Record& record) {
  const auto is_pid = [](std::int64_t pid) { return pid >= 0 && pid <= std::numeric_limits<std::int32_t>::max(); };
  const bool times =
      record.since_us >= 0 && record.until_us >= 0 && record.until_boot_ns >= 0 && record.drawn_boot_ns >= 0;
  return record.checksum == checksum_of(record) && record.ticket >= 1 && record.ticket <= kMaxTicket && times &&
         is_pid(record.pid) && is_pid(record.watch_pid) && is_pid(record.flock_pid) &&
         record.mode <= static_cast<std::uint32_t>(Mode::kPermits) && record.host[sizeof record.host - 1] == '\0' &&
         record.reason[sizeof record.reason - 1] == '\0';
}

}  // namespace dlock::local
