// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/local/files/checksum.h"

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

void seal(Prologue& prologue) { prologue.checksum = checksum_of(prologue); }
void seal(Header& header) { header.checksum = checksum_of(header); }
void seal(Record& record) { record.checksum = checksum_of(record); }

bool sound(const Prologue& prologue) {
  const Prologue expected;
  return std::memcmp(prologue.magic, expected.magic, sizeof expected.magic) == 0 &&
         prologue.version == expected.version && prologue.key_size >= 1 && prologue.key_size <= 255 &&
         prologue.checksum == checksum_of(prologue);
}

bool sound(const Header& header) {
  return header.checksum == checksum_of(header) && header.counter <= kMaxTicket &&
         header.last_writer <= header.counter && header.revoked <= header.counter &&
         header.delay_ticket <= header.counter && header.delay_ns >= 0 && header.ring >= kSmallRing &&
         header.ring <= kMaxRing && header.next_record < header.ring;
}

bool sound(const Record& record) {
  const auto is_pid = [](std::int64_t pid) { return pid >= 0 && pid <= std::numeric_limits<std::int32_t>::max(); };
  const bool times =
      record.since_us >= 0 && record.until_us >= 0 && record.until_boot_ns >= 0 && record.drawn_boot_ns >= 0;
  return record.checksum == checksum_of(record) && record.ticket >= 1 && record.ticket <= kMaxTicket && times &&
         is_pid(record.pid) && is_pid(record.watch_pid) && is_pid(record.flock_pid) &&
         record.mode <= static_cast<std::uint32_t>(Mode::kPermits) && record.host[sizeof record.host - 1] == '\0' &&
         record.reason[sizeof record.reason - 1] == '\0';
}

Prologue prologue_for(std::string_view key) {
  Prologue prologue;
  prologue.key_size = static_cast<std::uint32_t>(std::min(key.size(), sizeof prologue.key - 1));
  std::memcpy(prologue.key, key.data(), prologue.key_size);
  seal(prologue);
  return prologue;
}

std::string key_of(const Prologue& prologue) { return {prologue.key, prologue.key_size}; }

bool blank(const Prologue& prologue, const Header& header) {
  unsigned char bytes[sizeof(Prologue) + sizeof(Header)];
  std::memcpy(bytes, &prologue, sizeof prologue);
  std::memcpy(bytes + sizeof prologue, &header, sizeof header);
  return std::all_of(std::begin(bytes), std::end(bytes), [](unsigned char byte) { return byte == 0; });
}

Ticket next_ticket(const Header& header, std::int64_t wall_us) {
  return std::max<Ticket>(header.counter + 1, wall_us > 0 ? static_cast<Ticket>(wall_us) : 1);
}

}  // namespace dlock::local
