// SPDX-License-Identifier: Apache-2.0
// The visible part of a place in the queue: its bytes and its record, from the ticket to the end.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/process.h"
#include "backends/local/queue_entry.h"
#include "backends/local/view.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/lock/holder.h"

namespace dlock::local {

Result<void> QueueEntry::draw(Header& header, TimePoint now, WallTime wall, bool granted) {
  predecessor_ = side_ == Side::kWriters ? header.counter : header.last_writer;
  seen_counter_ = header.counter;
  revoked_ = header.revoked;
  TRY(lock_own_bytes(header, next_ticket(header, wall.time_since_epoch().count()), granted));
  const auto written = write_down(header, now, wall, granted);
  if (!written) {
    unlock_all();
    ticket_ = 0;
  }
  return written;
}

Result<void> QueueEntry::lock_own_bytes(Header& header, Ticket first, bool granted) {
  for (Ticket ticket = first; ticket <= kMaxTicket; ++ticket) {
    const int failed = try_write_lock(file_->fd(), entry_byte(side_, ticket, 0));
    if (failed == EAGAIN || failed == EACCES) continue;  // the file's counter was lost: go on to the next number
    if (failed) return system_error("cannot lock " + file_->path(), failed);
    ticket_ = ticket;
    header.counter = ticket;
    if (side_ == Side::kWriters) header.last_writer = ticket;
    if (!granted && spec_->mode == Mode::kPermits) try_write_lock(file_->fd(), queue_byte(ticket));
    return {};
  }
  return Error{ErrorCode::kSystem, "no ticket left for " + spec_->name.text() + ": the clock is past the year 2540",
               "set the clock"};
}

Result<void> QueueEntry::write_down(Header& header, TimePoint now, WallTime wall, bool granted) {
  if (record_.ticket != 0) record_ = Record();
  record_.ticket = ticket_;
  record_.set_owner(spec_->owner);
  record_.mode = static_cast<std::uint32_t>(spec_->mode);
  record_.permits = spec_->mode == Mode::kPermits ? static_cast<std::uint32_t>(spec_->permits) : 0;
  record_.flags = granted && complete_ ? std::uint32_t{Record::kGranted} : 0;
  if (spec_->supersedes == Supersedes::kReplace) record_.flags |= Record::kReplaces;
  if (spec_->supersedes == Supersedes::kNewest) record_.flags |= Record::kNewest;
  record_.pid = own_pid();
  const bool permit = spec_->mode == Mode::kPermits;  // its record is read for its slot: only changed under the guard
  if (!granted || permit) record_.pid_namespace = context_->own_pid_namespace();  // else see say_pid_namespace()
  record_.uid = context_->uid;
  record_.since_us = wall.time_since_epoch().count();
  record_.drawn_boot_ns = now.time_since_epoch().count();
  record_.set_host(context_->host);
  record_.set_texts(spec_->reason, {}, spec_->command);
  if (granted) protect(header, now);
  // A granted writer is alone, whatever the ring has: it starts again at the front, and the file stays small.
  const bool unseen = leases_.empty() && !any_write_lock(file_->fd(), kAllTickets);
  const bool alone = (granted && side_ == Side::kWriters) || unseen;
  if (alone) {
    header.ring = kSmallRing;
    header.next_record = 1;
    index_ = 0;
    if (const auto taken = granted ? take_slot(header) : Result<void>(); !taken) return taken;
    if (const auto written = file_->write(header, record_); !written) return written;
    file_->keep_reason(0, record_, spec_->reason);
    return {};
  }
  index_ = file_->claim_record(header, leases_);
  if (const auto taken = granted ? take_slot(header) : Result<void>(); !taken) return taken;
  if (const auto written = file_->write(header); !written) return written;
  return write_record();
}

Result<void> QueueEntry::write_record() {
  if (!index_) return {};
  const auto written = file_->write_record(*index_, record_);
  if (written) file_->keep_reason(*index_, record_, spec_->reason);
  return written;
}

/// A ticket without a record has no slot and outlives nothing: others would not see it.
Result<void> QueueEntry::take_slot(const Header& header) {
  if (!index_ && spec_->at_least.count() > 0) return no_record();
  if (spec_->mode != Mode::kPermits) return {};
  if (index_) {
    TRY_ASSIGN(const auto slot, slot_for(*file_, header.revoked, leases_, *spec_));
    record_.set_texts(spec_->reason, slot, spec_->command);
    return {};
  }
  return spec_->slots.empty() ? Result<void>() : no_record();
}

Error QueueEntry::no_record() const {
  return {ErrorCode::kSystem, "there are too many holders and waiters of " + spec_->name.text() + " to record this one",
          "try again later"};
}

/// The lock-delay, and --at-least, are in the file from the grant on: they hold also when everything of ours is killed.
/// True: the header has changed.
bool QueueEntry::protect(Header& header, TimePoint now) {
  const std::uint64_t delay_ticket = spec_->lock_delay.count() > 0 ? ticket_ : 0;
  const bool kept = spec_->at_least.count() > 0;
  if (kept) announce_lease(header, ticket_, this_boot());
  if (kept) keep_from(now);
  if (delay_ticket == header.delay_ticket && !kept) return false;
  header.delay_ticket = delay_ticket;
  if (delay_ticket) header.delay_ns = spec_->lock_delay.count();
  return true;
}

void QueueEntry::keep_from(TimePoint now) {
  record_.flags |= Record::kAtLeast;
  record_.until_boot_ns = (now + spec_->at_least).time_since_epoch().count();
}

Result<void> QueueEntry::grant(Header& header, TimePoint now, WallTime wall) {
  const bool needs_record = spec_->mode == Mode::kPermits || spec_->at_least.count() > 0;
  if (needs_record && !index_) {
    index_ = file_->claim_record(header, leases_);  // some have gone since we came
    TRY(file_->write(header));
  }
  if (const auto taken = take_slot(header); !taken) return taken;
  if (complete_) {
    record_.flags |= Record::kGranted;
    record_.since_us = wall.time_since_epoch().count();
  }
  if (protect(header, now)) TRY(file_->write(header));
  TRY(write_record());
  // Bytes locked for waiting block no other, but every later lock call would look at them.
  for (const Range& range : excluding(side_, ticket_, 0)) unlock_bytes(file_->fd(), range);
  if (spec_->mode == Mode::kPermits) unlock_bytes(file_->fd(), {queue_byte(0).first, queue_byte(ticket_).last});
  return {};
}

Result<void> QueueEntry::mark_granted(WallTime wall, std::int64_t flock_pid) {
  complete_ = true;
  if (entry_ > 0) return {};
  record_.flags |= Record::kGranted;
  record_.since_us = wall.time_since_epoch().count();
  if (spec_->at_least.count() > 0) keep_from(context_->runtime.clock.now());
  return note_flock_pid(flock_pid);
}

Result<void> QueueEntry::say_pid_namespace() {
  if (entry_ > 0 || record_.pid_namespace != 0) return {};
  record_.pid_namespace = context_->own_pid_namespace();
  return note_flock_pid(record_.flock_pid);
}

Result<void> QueueEntry::note_flock_pid(std::int64_t pid) {
  record_.flock_pid = pid;
  return index_ ? file_->write_record(*index_, record_) : Result<void>();
}

bool QueueEntry::others_inside() const { return file_->alive(side_, ticket_); }

void QueueEntry::release() {
  if (ticket_ == 0) return;
  // Guarded, because between "is another one inside" and the unlocking another one may leave.
  const bool kept = record_.flags & Record::kAtLeast;
  if ((entry_ > 0 || kept || spec_->lock_delay.count() > 0) && file_->guard()) {
    const Guarded guarded(*file_);
    if (auto header = file_->read_header(); header && header->revoked < ticket_) cancel(*header);
    unlock_all();
  } else {
    unlock_all();
  }
  if (record_.lock_mode() == Mode::kPermits) file_->touch();
  ticket_ = 0;
}

/// What would outlive us.
void QueueEntry::cancel(Header& header) {
  if (entry_ == 0 && (record_.flags & Record::kAtLeast) && index_) {
    record_.flags |= Record::kGivenBack;
    (void)file_->write_record(*index_, record_);
  }
  if (header.delay_ticket != ticket_ || others_inside() || lease_stands(header)) return;
  header.delay_ticket = 0;
  (void)file_->write(header);
}

/// Whether a lease of this very ticket holds beyond us.
bool QueueEntry::lease_stands(const Header& header) const {
  const auto leases = standing_leases(*file_, header, context_->runtime.clock.now());
  return std::any_of(leases.begin(), leases.end(), [&](const auto& one) { return one.record.ticket == ticket_; });
}

Result<void> QueueEntry::leave(const DetachSpec& spec, std::optional<int> ran) {
  if (entry_ > 0) {
    return Error{ErrorCode::kUnsupported, "the lock is already held by an outer command",
                 "take leases outside of 'dlock run', or let the command keep its lock"};
  }
  if (!index_) return no_record();
  TRY_ASSIGN(const Record lease, as_lease(spec, ran));
  TRY(file_->guard());
  const Guarded guarded(*file_);
  TRY_ASSIGN(auto header, file_->read_header());
  if (header.revoked >= ticket_) return Error{ErrorCode::kLost, forced_by(freed_by())};
  announce_lease(header, ticket_, this_boot());
  TRY(file_->write(header));
  TRY(file_->write_record(*index_, lease));
  unlock_all();
  ticket_ = 0;
  return {};
}

/// Our record, as it holds without us.
Result<Record> QueueEntry::as_lease(const DetachSpec& spec, std::optional<int> ran) const {
  Record lease = record_;
  lease.flags |= Record::kLease;
  if (ran) lease.flags |= Record::kRan | static_cast<std::uint32_t>(*ran) << Record::kStatusAt;
  lease.pid_namespace = context_->own_pid_namespace();
  lease.until_boot_ns = lease.until_us = 0;
  if (!spec.watch_pid) {
    set_end(lease, spec.ttl, context_->runtime.clock);
    return lease;
  }
  const auto watched = look_up_process(*spec.watch_pid);
  if (!watched && kill(*spec.watch_pid, 0) != 0 && errno == ESRCH) {
    return Error{ErrorCode::kInvalid,
                 "cannot watch process " + std::to_string(*spec.watch_pid) + ": " + errno_text(ESRCH),
                 "give the pid of a running process, such as $$"};
  }
  lease.watch_pid = *spec.watch_pid;
  lease.drawn_boot_ns = watched ? started_ns(watched->id) : 0;
  return lease;
}

void QueueEntry::keep_file_open() {
  context_->spare = std::move(file_);
  context_->spare_kept_by = own_pid();
}

void QueueEntry::unlock_all() {
  // Explicitly, and not by closing: a daemon that inherited the descriptor must not keep what is given back.
  unlock_all_bytes(file_->fd());
}

}  // namespace dlock::local
