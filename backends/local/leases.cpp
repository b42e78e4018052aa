// SPDX-License-Identifier: Apache-2.0
#include "backends/local/leases.h"

#include <algorithm>
#include <cerrno>

#include "backends/local/files/standing_leases.h"
#include "backends/local/view.h"
#include "lib/base/system_error.h"
#include "lib/lock/lock_errors.h"

namespace dlock::local {
namespace {

/// The file of a key, with its guard, which goes when it is closed at the latest; nullopt: the key was never used.
Result<std::optional<LockFile>> open_guarded(LocalContext& context, const LockName& name) {
  const auto dir = context.existing_directory();
  if (!dir) return dir.error();
  if (!*dir) return std::optional<LockFile>();
  auto file = LockFile::open_existing(**dir, lock_file_name(name), name.text(), true);
  if (!file || !*file) return file;
  if (const auto got = (*file)->guard(); !got) return got.error();
  return file;
}

/// REQUIRES: the guard. The lease of `owner`, if it is one and it lasts.
Result<View::Seat> find_lease(LocalContext& context, const LockFile& file, const LockName& name, const Owner& owner) {
  const auto view = read_view(file, name.is_path(), context.runtime.clock.now());
  if (!view) return view.error();
  const auto seat = std::find_if(view->holders.begin(), view->holders.end(), [&](const View::Seat& one) {
    return one.placed && one.placed->record.owner_text() == owner.text();
  });
  if (seat == view->holders.end()) return not_held(name);
  const Record& record = seat->placed->record;
  if (record.has_ended(context.runtime.clock.now().time_since_epoch().count())) return not_held(name);
  if (!seat->is_lease) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + " is held by a running process (pid " + std::to_string(record.pid) + "), not by a lease",
                 "end that process, or: dlock force-release " + name.typed()};
  }
  return *seat;
}

bool same_participants(const std::vector<Participant>& a, const std::vector<Participant>& b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(), [](const Participant& x, const Participant& y) {
    return x.owner == y.owner && x.token == y.token && x.pid == y.pid;
  });
}

bool is_foreign(const Participant& participant) {
  return participant.token.value() == 0 && is_hold(participant.standing);
}

/// REQUIRES: the guard. From now on every ticket up to `newest` counts for nothing.
Result<void> revoke_up_to(LocalContext& context, const LockFile& file, Header header, Ticket newest) {
  header.revoked = newest;
  header.counter = std::max(header.counter, newest);  // of a file that was emptied it begins again
  if (header.delay_ticket != 0 && header.delay_ticket <= newest) {
    begin_delay(header, context.runtime.clock.now() + Duration(header.delay_ns), this_boot());
    header.delay_ns = 0;
  }
  // Before it as well: a holder that sees no touch does not read the header, and we may be killed after the write.
  if (!file.touch()) return system_error("cannot touch the lock file " + file.path(), errno);
  const auto written = file.write(header);
  if (written) file.touch();
  return written;
}

/// REQUIRES: the guard. Whoever waits is woken.
Result<void> end_delay(const LockFile& file, Header header) {
  header.delay_ticket = 0;
  header.delay_until_ns = 0;
  TRY(file.write(header));
  file.touch();
  return {};
}

/// REQUIRES: the guard. The lease ends in order, and who waits is woken. A run inside goes on with it.
Result<void> end_lease(const LockFile& file, const View::Seat& seat) {
  LockFile::Placed placed = *seat.placed;
  placed.record.flags |= Record::kGivenBack;
  TRY(file.write_record(placed.index, placed.record));
  TRY_ASSIGN(auto header, file.read_header());
  if (header.delay_ticket == seat.ticket.ticket) {
    header.delay_ticket = 0;
    TRY(file.write(header));
  }
  file.touch();
  return {};
}

/// REQUIRES: the guard. In the holder's own record, which is its until it has obeyed. Without one the holder cannot be
/// asked.
bool tell_holder(const LockFile& file, const View::Seat& seat, Record::Flag what, const std::string& by) {
  if (!seat.placed || by.empty()) return false;
  LockFile::Placed placed = *seat.placed;
  if (placed.record.flags & what) return true;
  placed.record.flags |= what;
  placed.record.set_texts(by, std::string(placed.record.slot()), std::string(placed.record.command()));
  if (!file.write_record(placed.index, placed.record)) return false;
  file.keep_reason(placed.index, placed.record, by);
  return true;
}

Error flock_held(const LockName& name, std::int64_t pid) {
  return {ErrorCode::kUnsupported,
          name.text() + " is held with flock(2) by process " + std::to_string(pid) +
              ", and is free only when that process ends",
          "end it: kill " + std::to_string(pid)};
}

}  // namespace

Result<HeldLock> renew_lease(LocalContext& context, const LockName& name, const Owner& owner, Duration ttl) {
  const auto file = open_guarded(context, name);
  if (!file) return file.error();
  if (!*file) return not_held(name);
  const auto seat = find_lease(context, **file, name, owner);
  if (!seat) return seat.error();
  LockFile::Placed placed = *seat->placed;
  if (!(placed.record.flags & Record::kLease)) {
    return Error{ErrorCode::kUnsupported,
                 name.text() + " was left by a run that was killed: it is kept for --at-least, and no longer"};
  }
  if (placed.record.watch_pid != 0) {
    return Error{ErrorCode::kUnsupported, "the lease of " + name.text() + " lasts until process " +
                                              std::to_string(placed.record.watch_pid) +
                                              " ends: it has no time that could be extended"};
  }
  set_end(placed.record, ttl, context.runtime.clock);
  if (const auto written = (*file)->write_record(placed.index, placed.record); !written) return written.error();
  (*file)->touch();
  return HeldLock{
      .name = name, .owner = owner, .token = FencingToken(placed.record.ticket), .store = context.settings.store};
}

Result<void> release_lease(LocalContext& context, const LockName& name, const Owner& owner) {
  const auto file = open_guarded(context, name);
  if (!file) return file.error();
  if (!*file) return not_held(name);
  const auto seat = find_lease(context, **file, name, owner);
  if (!seat) return seat.error();
  return end_lease(**file, *seat);
}

Result<ForceReleased> force_release(LocalContext& context, const LockName& name, const LockState& shown,
                                    const std::string& by) {
  const auto file = open_guarded(context, name);
  if (!file) return file.error();
  const auto view = *file ? read_view(**file, name.is_path(), context.runtime.clock.now()) : View();
  if (!view) return view.error();
  LockState state = describe(*view, context, name);
  if (!same_participants(state.holders, shown.holders)) {
    return Error{ErrorCode::kConflict, "the holder of " + name.text() + " has changed: nothing was released",
                 "look again: dlock inspect " + name.typed()};
  }
  if (state.holders.empty()) return ForceReleased{};
  const auto foreign = std::find_if(state.holders.begin(), state.holders.end(), is_foreign);
  if (foreign != state.holders.end()) return flock_held(name, foreign->pid);
  for (const View::Seat& seat : view->holders) tell_holder(**file, seat, Record::kForced, by);
  const auto revoked = view->holders.empty()
                           ? end_delay(**file, view->header)
                           : revoke_up_to(context, **file, view->header, view->holders.back().ticket.ticket);
  if (!revoked) return revoked.error();
  return ForceReleased{std::move(state.holders)};
}

Result<void> revoke(LocalContext& context, const LockName& name, const LockState& shown, const std::string& by) {
  const auto foreign = std::find_if(shown.holders.begin(), shown.holders.end(), is_foreign);
  if (foreign != shown.holders.end()) return flock_held(name, foreign->pid);
  const auto file = open_guarded(context, name);
  if (!file) return file.error();
  if (!*file) return other_holders(name);
  const auto view = read_view(**file, name.is_path(), context.runtime.clock.now());
  if (!view) return view.error();
  bool told = false;
  for (const View::Seat& seat : view->holders) {
    const bool is_shown = std::any_of(shown.holders.begin(), shown.holders.end(),
                                      [&](const Participant& one) { return one.token.value() == seat.ticket.ticket; });
    if (!is_shown) continue;
    const bool hears =
        seat.is_lease ? static_cast<bool>(end_lease(**file, seat)) : tell_holder(**file, seat, Record::kRevoked, by);
    told = told || hears;
  }
  (*file)->touch();
  return told ? Result<void>() : other_holders(name);
}

}  // namespace dlock::local
