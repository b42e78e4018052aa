// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock::local {

/// Where tickets lie in the range of a file's byte locks, all of it pure. Nothing is ever stored at these offsets: a
/// locked byte is a sign in the kernel that goes out with the process that set it.
///
///     kQueueArea           writers' tickets    kMiddle   readers' tickets
///   |queue bytes| ... |  ... 3 | 2 | 1  |  guard  |  1 | 2 | 3 ...  |
///
/// Each ticket owns 64 bytes: the one next to the middle for writers, the first one for readers, is the hold itself,
/// the others are re-entries. The two sides mirror each other, so that a writer's hold, everything older than it and
/// the guard are one contiguous range: see alone().
///
/// A ticket lock after Reed and Kanodia, "Synchronization with Eventcounts and Sequencers", CACM 22(2), 1979, with the
/// waiting done on the predecessor as in Mellor-Crummey and Scott, ACM TOCS 9(1), 1991.
using Ticket = std::uint64_t;

/// Both ends belong to it.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool operator==(const Range&) const = default;
};

/// Exclusive tickets are writers; shared ones and permits are readers.
enum class Side { kWriters, kReaders };

constexpr std::int64_t kMiddle = std::int64_t{1} << 62;
constexpr std::int64_t kQueueArea = std::int64_t{1} << 61;
constexpr std::int64_t kBytesPerTicket = 64;
constexpr int kMaxEntries = 64;
constexpr Ticket kMaxTicket = (Ticket{1} << 54) - 1;  ///< in microseconds since 1970: the year 2540
constexpr Range kGuard{kMiddle, kMiddle};
constexpr Range kAllTickets{kMiddle - kBytesPerTicket * static_cast<std::int64_t>(kMaxTicket),
                            kMiddle + kBytesPerTicket* static_cast<std::int64_t>(kMaxTicket) + kBytesPerTicket - 1};

Side side_of(Mode mode);

/// Everything that belongs to one ticket.
Range ticket_bytes(Side side, Ticket ticket);

/// `entry` 0 is the hold, 1 to 63 are re-entries.
Range entry_byte(Side side, Ticket ticket, int entry);

/// Held by a permit ticket while it queues, so that only the first of them watches for a free permit.
Range queue_byte(Ticket ticket);

/// A writer's hold with everything that could be in its way, guard included: who gets all of it in one call is alone,
/// provided that the file knows no younger ticket.
Range alone(Ticket ticket);

/// Bytes that must be free of locks before `ticket` may be granted: the tickets older than it that exclude it and are
/// younger than `revoked`. The guard is never among them. For readers only writers exclude.
std::vector<Range> excluding(Side side, Ticket ticket, Ticket revoked);

/// The queue bytes of the permit tickets between `revoked` and `ticket`; nullopt if there can be none.
std::optional<Range> queued_before(Ticket ticket, Ticket revoked);

/// The readers between `revoked` and `ticket`; nullopt if there can be none.
std::optional<Range> readers_before(Ticket ticket, Ticket revoked);

struct TicketByte {
  Side side = Side::kWriters;
  Ticket ticket = 0;
  int entry = 0;
};
/// Whose byte this is; nullopt for an offset that belongs to no ticket.
std::optional<TicketByte> owner_of_byte(std::int64_t offset);

/// A ticket whose process (or an heir of its descriptor) lives.
struct LiveTicket {
  Side side = Side::kWriters;
  Ticket ticket = 0;
  int entries = 1;  ///< bytes locked: the hold and its re-entries
  bool operator==(const LiveTicket&) const = default;
};

/// The live tickets of some locked ranges, oldest first.
std::vector<LiveTicket> live_tickets(const std::vector<Range>& locked);

/// Whether a file that was touched at `touched_ns` (wall clock) shows another time as soon as it is touched after
/// `wall_us`. The time that the kernel writes down is up to 10 ms old, and cut by the file system: to 10 ms or less, or
/// to seconds, which cannot be distinguished. A clock that was set back would have to hit the very nanosecond.
bool differs_from_later(std::int64_t touched_ns, std::int64_t wall_us);

/// Holders and waiters among live tickets (oldest first), by nothing but their order: the lock belongs to the
/// oldest, and to those next to it that it does not exclude. `permits` 0: readers share without limit.
struct Line {
  std::vector<LiveTicket> holders;
  std::vector<LiveTicket> waiters;
};
Line line_up(const std::vector<LiveTicket>& live, std::uint32_t permits, Ticket revoked);

/// Between two looks of a waiter at a queue whose file has room for `ring` records: each looks at all of them, so that
/// without it a thousand waiters would do nothing else.
Duration queue_look_pause(std::uint32_t ring);

}  // namespace dlock::local
