// SPDX-License-Identifier: Apache-2.0
#include "backends/local/view.h"

#include <algorithm>

#include "backends/local/files/path_lock.h"
#include "backends/local/files/process.h"
#include "backends/local/files/standing_leases.h"
#include "lib/base/human_text.h"
#include "lib/base/process.h"
#include "lib/base/users.h"
#include "lib/lock/slots.h"

namespace dlock::local {
namespace {

WallTime wall_time(std::int64_t microseconds) { return WallTime(std::chrono::microseconds(microseconds)); }

std::string note_about(const Record& record, const LocalContext& context) {
  if (record.pid_namespace == 0) return {};  // it has not said yet
  if (record.pid_namespace != context.own_pid_namespace()) return "in another pid namespace";
  constexpr std::int64_t kTick = 20'000'000;
  const auto info = look_up_process(static_cast<pid_t>(record.pid));
  const bool recycled = info && started_ns(info->id) > record.drawn_boot_ns + kTick;
  if (!info || recycled || has_ended(*info)) {
    return record.flags & Record::kGranted ? "dlock is gone, but what it started still runs" : "ended";
  }
  if (info->state == 'T' || info->state == 't') return "stopped";
  if (is_frozen(*info)) return "frozen";
  return {};
}

Participant participant_of(const View::Seat& seat, bool holder, const LocalContext& context) {
  Participant participant;
  if (holder) {
    participant.token = FencingToken(seat.ticket.ticket);
    participant.count = seat.ticket.entries;
    if (seat.placed) participant.slot = seat.placed->record.slot();
    const std::int64_t now = context.runtime.clock.now().time_since_epoch().count();
    if (seat.placed && seat.placed->record.has_ended(now)) participant.standing = Standing::kLeaseOver;
  }
  if (!seat.placed) {
    participant.mode = seat.ticket.side == Side::kWriters ? Mode::kExclusive : Mode::kShared;
    participant.note = "left no record";
    return participant;
  }
  const Record& record = seat.placed->record;
  participant.owner = record.owner_text();
  participant.host = record.host;
  participant.pid = record.pid;
  participant.user = user_name(record.uid);
  (record.flags & Record::kRevoked ? participant.revoked : participant.reason) = seat.reason;
  if (record.flags & Record::kReplaces) participant.supersedes = Supersedes::kReplace;
  if (record.flags & Record::kNewest) participant.supersedes = Supersedes::kNewest;
  participant.command = record.command();
  participant.mode = record.lock_mode();
  participant.since = wall_time(record.since_us);
  if (record.until_us != 0) participant.until = wall_time(record.until_us);
  const auto kept = std::chrono::nanoseconds(record.until_boot_ns) - context.runtime.clock.now().time_since_epoch();
  if (holder && (record.flags & Record::kAtLeast) && kept > Duration(0)) {
    participant.at_least =
        std::chrono::ceil<std::chrono::milliseconds>(context.runtime.clock.wall() + kept - *participant.since);
    participant.until = *participant.since + std::chrono::ceil<std::chrono::microseconds>(participant.at_least);
  }
  if (record.flags & Record::kRan)
    participant.ran = wait_status_text(static_cast<int>(record.flags >> Record::kStatusAt));
  if (record.flags & Record::kLease) mark_lease(participant, record.watch_pid);
  else if (seat.is_lease) participant.ran = kEndedWithDlock;
  else participant.note = note_about(record, context);
  return participant;
}

/// Whether the holder with a lock-delay has ended without a release: looked at twice, since one that releases takes its
/// lock-delay back before it goes.
bool ended_uncleanly(const LockFile& file, Ticket ticket, const std::vector<LockFile::Placed>& leases) {
  const auto is_it = [&](const LockFile::Placed& lease) { return lease.record.ticket == ticket; };
  if (ticket == 0 || std::any_of(leases.begin(), leases.end(), is_it) || file.alive(Side::kWriters, ticket))
    return false;
  const auto again = file.read_header();
  return again && again->delay_ticket == ticket;
}

std::optional<View::Delay> delay_of(const LockFile& file, Header header, const std::vector<LockFile::Placed>& leases,
                                    TimePoint now) {
  forget_earlier_boot(header, this_boot());
  const TimePoint until{Duration(header.delay_until_ns)};
  if (until > now) return View::Delay{until, header.delay_ns == 0};
  if (ended_uncleanly(file, header.delay_ticket, leases)) return View::Delay{};
  return std::nullopt;
}

Participant delayed(const View::Delay& delay, const LocalContext& context) {
  Participant nobody;
  nobody.standing = delay.forced ? Standing::kDelayAfterForce : Standing::kDelayAfterLease;
  if (delay.until)
    nobody.until = context.runtime.clock.wall() +
                   std::chrono::duration_cast<std::chrono::microseconds>(*delay.until - context.runtime.clock.now());
  return nobody;
}

/// Users of flock(2) who came without dlock.
void add_foreigners(LockState& state, const View& view, const LocalContext& context, const std::string& path,
                    std::int64_t own_pid) {
  std::vector<std::int64_t> ours{own_pid};
  for (const auto* seats : {&view.holders, &view.waiters}) {
    for (const View::Seat& seat : *seats) {
      if (!seat.placed) continue;
      ours.push_back(seat.placed->record.pid);
      ours.push_back(seat.placed->record.flock_pid);
    }
  }
  for (const FlockEntry& entry : flock_users(path)) {
    if (std::find(ours.begin(), ours.end(), entry.pid) != ours.end()) continue;
    Participant participant;
    participant.host = context.host;
    participant.pid = entry.pid;
    participant.mode = entry.exclusive ? Mode::kExclusive : Mode::kShared;
    participant.note = look_up_process(entry.pid) ? "flock(2) by another program"
                                                  : "flock(2) by another program, which left it to what it started";
    (entry.waiting ? state.waiters : state.holders).push_back(std::move(participant));
  }
}

bool is_among(const std::vector<LiveTicket>& tickets, Ticket ticket) {
  return std::any_of(tickets.begin(), tickets.end(), [&](const LiveTicket& one) { return one.ticket == ticket; });
}

}  // namespace

Result<View> read_view(const LockFile& file, bool path_key, TimePoint now) {
  // The bytes first: who leaves a lease has written it before they go.
  TRY_ASSIGN(const auto live, file.live());
  TRY_ASSIGN(const auto header, file.read_header());
  View view;
  view.header = header;
  const auto leases = standing_leases(file, header, now);
  view.delay = delay_of(file, header, leases, now);
  const Line line = line_up(with_leases(live, leases), header.reader_permits, header.revoked);
  if (line.holders.empty() && line.waiters.empty()) return view;
  const auto records = file.read_records();
  const auto seat = [&](const LiveTicket& ticket) {
    View::Seat found{ticket, std::nullopt, {}};
    for (const auto& placed : records) {
      if (placed.record.ticket == ticket.ticket) found.placed = placed;
    }
    for (const auto& lease : leases) {
      if (lease.record.ticket != ticket.ticket) continue;
      found.placed = lease;
      found.is_lease = (lease.record.flags & Record::kLease) || !is_among(live, ticket.ticket);
    }
    if (found.placed) found.reason = file.reason_of(*found.placed);
    return found;
  };
  for (const LiveTicket& ticket : line.holders) {
    View::Seat found = seat(ticket);
    const bool granted = !found.placed || (found.placed->record.flags & Record::kGranted);
    ((path_key || view.delay) && !granted ? view.waiters : view.holders).push_back(std::move(found));
  }
  for (const LiveTicket& ticket : line.waiters) view.waiters.push_back(seat(ticket));
  return view;
}

Result<std::string> slot_for(const LockFile& file, Ticket revoked, const std::vector<LockFile::Placed>& leases,
                             const LockSpec& spec) {
  TRY_ASSIGN(auto live, file.live());
  live = with_leases(std::move(live), leases);
  std::vector<std::string> taken;
  for (const auto& placed : file.read_records()) {
    const Record& record = placed.record;
    if (record.slot().empty() || record.ticket <= revoked || !is_among(live, record.ticket)) continue;
    taken.emplace_back(record.slot());
  }
  return free_slot(spec.slots, spec.permits, taken);
}

LockState describe(const View& view, const LocalContext& context, const LockName& name, std::int64_t own_pid) {
  LockState state{.name = name, .store = context.settings.store, .holders = {}, .waiters = {}};
  for (const View::Seat& seat : view.holders) state.holders.push_back(participant_of(seat, true, context));
  if (state.holders.empty() && view.delay) state.holders.push_back(delayed(*view.delay, context));
  std::vector<Participant> waiters;
  for (const View::Seat& seat : view.waiters) waiters.push_back(participant_of(seat, false, context));
  list_waiters(state, std::move(waiters));
  if (name.is_path()) add_foreigners(state, view, context, name.text(), own_pid);
  if (!state.holders.empty()) state.mode = state.holders.front().mode;
  if (state.mode == Mode::kPermits) state.permits = static_cast<int>(view.header.reader_permits);
  return state;
}

}  // namespace dlock::local
