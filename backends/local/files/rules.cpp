// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/rules.h"

#include <algorithm>

namespace dlock::local {
namespace {

std::int64_t width(Ticket tickets) { return kBytesPerTicket * static_cast<std::int64_t>(tickets); }

}  // namespace

Side side_of(Mode mode) { return mode == Mode::kExclusive ? Side::kWriters : Side::kReaders; }

Range ticket_bytes(Side side, Ticket ticket) {
  const std::int64_t first = side == Side::kWriters ? kMiddle - width(ticket) : kMiddle + width(ticket);
  return {first, first + kBytesPerTicket - 1};
}

Range entry_byte(Side side, Ticket ticket, int entry) {
  const Range all = ticket_bytes(side, ticket);
  const std::int64_t byte = side == Side::kWriters ? all.last - entry : all.first + entry;
  return {byte, byte};
}

Range alone(Ticket ticket) {
  return {entry_byte(Side::kWriters, ticket, 0).first, ticket_bytes(Side::kReaders, ticket).first - 1};
}

Range queue_byte(Ticket ticket) {
  const std::int64_t byte = kQueueArea + static_cast<std::int64_t>(ticket);
  return {byte, byte};
}

std::vector<Range> excluding(Side side, Ticket ticket, Ticket revoked) {
  if (ticket <= revoked + 1) return {};
  const Range writers{ticket_bytes(Side::kWriters, ticket).last + 1, ticket_bytes(Side::kWriters, revoked).first - 1};
  const Range readers{ticket_bytes(Side::kReaders, revoked).last + 1, ticket_bytes(Side::kReaders, ticket).first - 1};
  if (side == Side::kReaders) return {writers};
  return {writers, readers};
}

std::optional<Range> queued_before(Ticket ticket, Ticket revoked) {
  if (ticket <= revoked + 1) return std::nullopt;
  return Range{queue_byte(revoked).first + 1, queue_byte(ticket).first - 1};
}

std::optional<Range> readers_before(Ticket ticket, Ticket revoked) {
  if (ticket <= revoked + 1) return std::nullopt;
  return Range{ticket_bytes(Side::kReaders, revoked).last + 1, ticket_bytes(Side::kReaders, ticket).first - 1};
}

std::optional<TicketByte> owner_of_byte(std::int64_t offset) {
  if (offset < kAllTickets.first || offset > kAllTickets.last) return std::nullopt;
  TicketByte byte;
  if (offset < kMiddle) {
    byte.ticket = static_cast<Ticket>((kMiddle - offset + kBytesPerTicket - 1) / kBytesPerTicket);
    byte.entry = static_cast<int>(ticket_bytes(Side::kWriters, byte.ticket).last - offset);
  } else {
    byte.side = Side::kReaders;
    byte.ticket = static_cast<Ticket>((offset - kMiddle) / kBytesPerTicket);
    byte.entry = static_cast<int>((offset - kMiddle) % kBytesPerTicket);
  }
  if (byte.ticket == 0) return std::nullopt;
  return byte;
}

std::vector<LiveTicket> live_tickets(const std::vector<Range>& locked) {
  std::vector<LiveTicket> live;
  for (const Range& range : locked) {
    const auto byte = owner_of_byte(range.first);
    if (!byte) continue;
    const auto same = std::find_if(live.begin(), live.end(), [&](const LiveTicket& other) {
      return other.ticket == byte->ticket && other.side == byte->side;
    });
    // A range may go on beyond its ticket: see alone().
    const std::int64_t end = ticket_bytes(byte->side, byte->ticket).last;
    const auto entries = static_cast<int>(std::min(range.last, end) - range.first + 1);
    if (same != live.end()) same->entries += entries;
    else live.push_back({byte->side, byte->ticket, entries});
  }
  std::sort(live.begin(), live.end(), [](const LiveTicket& a, const LiveTicket& b) { return a.ticket < b.ticket; });
  return live;
}

bool differs_from_later(std::int64_t touched_ns, std::int64_t wall_us) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kCoarseUs = 50'000;
  return touched_ns % kSecond != 0 && touched_ns / 1000 < wall_us - kCoarseUs;
}

Line line_up(const std::vector<LiveTicket>& live, std::uint32_t permits, Ticket revoked) {
  Line line;
  bool open = true;  // may the next one still join those before it?
  for (const LiveTicket& one : live) {
    if (one.ticket <= revoked) continue;
    const bool first = line.holders.empty() && line.waiters.empty();
    if (one.side == Side::kWriters) open = false;
    else if (permits > 0 && line.holders.size() >= permits) open = false;
    if (first || open) line.holders.push_back(one);
    else line.waiters.push_back(one);
  }
  return line;
}

Duration queue_look_pause(std::uint32_t ring) {
  return std::max<Duration>(std::chrono::seconds(1), std::chrono::milliseconds(10) * ring);
}

}  // namespace dlock::local
