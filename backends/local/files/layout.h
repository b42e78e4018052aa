// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/local/files/record.h"
#include "backends/local/files/rules.h"

namespace dlock::local {

/// Content of a lock file, byte for byte. Native byte order: the file never leaves its machine. A process holds the
/// lock by locked bytes alone, and its record only describes it for people. What must outlive a process holds by its
/// record: standing_leases.h.
///
///   Prologue (written once) | Header | Record 0 | Record 1 | ... up to kMaxRing | LongReason 0 | ... | SlotLine 0 |
///   ...
///
/// Header and record 0 are neighbours: the uncontended acquisition writes both with one system call. Everything read
/// from a file is checked with sound() before it is believed.
struct Prologue {
  char magic[8] = {'d', 'l', 'o', 'c', 'k', 'k', 'e', 'y'};
  std::uint32_t version = 1;
  std::uint32_t key_size = 0;
  char key[256] = {};
  std::uint64_t spare = 0;
  std::uint64_t checksum = 0;
};

/// The boot whose clock a time is of; all zeros: not known.
using BootId = std::array<unsigned char, 16>;

struct Header {
  std::uint64_t counter = 0;         ///< the youngest ticket ever drawn
  std::uint64_t last_writer = 0;     ///< the youngest exclusive one: what a new reader waits for
  std::uint64_t revoked = 0;         ///< every ticket up to here was taken from its holder by force
  std::uint64_t delay_ticket = 0;    ///< if this ticket dies uncleanly, a lock-delay begins
  std::int64_t delay_ns = 0;         ///< its length; 0 once a force-release has begun it
  std::int64_t delay_until_ns = 0;   ///< boot clock: the lock stays closed until then
  std::uint32_t reader_permits = 0;  ///< agreed on by the live readers: 0 shared, else so many permits
  std::uint32_t ring = 14;           ///< records in use before it starts again at record 0
  std::uint32_t next_record = 0;
  std::uint32_t known = 0;         ///< the file has a prologue: 0 only in a header that was never written
  std::uint64_t oldest_lease = 0;  ///< no older ticket holds by its record alone; 0: none does (standing_leases.h)
  BootId boot = {};                ///< of delay_until_ns and of the leases: they end with it
  std::uint64_t checksum = 0;
};

/// A reason that is too long for its record, after all records; missing where it is not. Belongs to the record only if
/// it begins with what that has: whoever does not know of it writes another reason there.
struct LongReason {
  std::uint64_t ticket = 0;
  char text[496] = {};  ///< NUL-terminated
  std::uint64_t checksum = 0;
};

static_assert(sizeof(LongReason) == 512);
static_assert(sizeof(Prologue) == 288 && sizeof(Header) == 96);

constexpr std::size_t kHeaderAt = sizeof(Prologue);
constexpr std::size_t kRecordsAt = sizeof(Prologue) + sizeof(Header);
constexpr std::uint32_t kSmallRing = 14;  ///< fits into 4 KiB
constexpr std::uint32_t kMaxRing = 1024;

constexpr std::size_t record_at(std::uint32_t index) { return kRecordsAt + index * sizeof(Record); }
constexpr std::size_t long_reason_at(std::uint32_t index) { return record_at(kMaxRing) + index * sizeof(LongReason); }
constexpr std::size_t kSlotsAt = long_reason_at(kMaxRing);  ///< slot_lines.h

void seal(Prologue& prologue);
void seal(Header& header);
void seal(LongReason& reason);

bool sound(const Prologue& prologue);
bool sound(const Header& header);
bool sound(const LongReason& reason);

Prologue prologue_for(std::string_view key);
std::string key_of(const Prologue& prologue);

/// True for a file that was just made, or lost its pages with the power: nothing but zeros.
bool blank(const Prologue& prologue, const Header& header);

/// The next ticket: above every earlier one, and above the wall clock in microseconds, so that it grows even when the
/// file was lost.
Ticket next_ticket(const Header& header, std::int64_t wall_us);

}  // namespace dlock::local
