// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/layout.h"

#include <algorithm>
#include <cstring>

#include "backends/local/files/checksum.h"

namespace dlock::local {

void seal(Prologue& prologue) { prologue.checksum = checksum_of(prologue); }
void seal(Header& header) { header.checksum = checksum_of(header); }
void seal(LongReason& reason) { reason.checksum = checksum_of(reason); }

bool sound(const Prologue& prologue) {
  const Prologue expected;
  return std::memcmp(prologue.magic, expected.magic, sizeof expected.magic) == 0 &&
         prologue.version == expected.version && prologue.key_size >= 1 && prologue.key_size <= 255 &&
         prologue.checksum == checksum_of(prologue);
}

bool sound(const Header& header) {
  return header.checksum == checksum_of(header) && header.counter <= kMaxTicket &&
         header.last_writer <= header.counter && header.revoked <= header.counter &&
         header.delay_ticket <= header.counter && header.oldest_lease <= header.counter && header.delay_ns >= 0 &&
         header.ring >= kSmallRing && header.ring <= kMaxRing && header.next_record < header.ring;
}

bool sound(const LongReason& reason) {
  return reason.checksum == checksum_of(reason) && reason.text[sizeof reason.text - 1] == '\0';
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
