// SPDX-License-Identifier: Apache-2.0
// The visible part of a place in the queue: its bytes and its record, from the ticket to the end.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/process.h"
#include "backends/local/queue_entry.h"
#include "backends/local/view.h"
#include "lib/base/system_error.h"

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
  const bool unseen = header.kept_ticket == 0 && !any_write_lock(file_->fd(), kAllTickets);
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
  index_ = file_->claim_record(header);
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

/// A ticket without a record has no slot either: others would not see that it is taken.
Result<void> QueueEntry::take_slot(const Header& header) {
  if (spec_->mode != Mode::kPermits) return {};
  if (index_) {
    TRY_ASSIGN(const auto slot, slot_for(*file_, header.revoked, *spec_));
    record_.set_texts(spec_->reason, slot, spec_->command);
    return {};
  }
  if (spec_->slots.empty()) return {};
  return Error{ErrorCode::kSystem,
               "too many holders and waiters of " + spec_->name.text() + " to record which slot belongs to which",
               "try again later"};
}

/// The lock-delay, and --at-least, are in the file from the grant on: they hold also when everything of ours is killed.
/// True: the header has changed.
bool QueueEntry::protect(Header& header, TimePoint now) const {
  const std::uint64_t delay_ticket = spec_->lock_delay.count() > 0 ? ticket_ : 0;
  const bool kept = spec_->at_least.count() > 0;
  if (delay_ticket == header.delay_ticket && !kept && header.kept_ticket == 0) return false;
  header.delay_ticket = delay_ticket;
  if (delay_ticket || kept) header.delay_ns = std::max(spec_->lock_delay, spec_->at_least).count();
  header.kept_ticket = kept ? ticket_ : 0;
  if (kept) header.delay_until_ns = (now + spec_->at_least).time_since_epoch().count();
  return true;
}

Result<void> QueueEntry::grant(Header& header, TimePoint now, WallTime wall) {
  if (spec_->mode == Mode::kPermits && !index_) {
    index_ = file_->claim_record(header);  // some have gone since we came
    if (const auto written = file_->write(header); !written) return written;
  }
  if (const auto taken = take_slot(header); !taken) return taken;
  if (complete_) {
    record_.flags |= Record::kGranted;
    record_.since_us = wall.time_since_epoch().count();
  }
  if (const auto written = write_record(); !written) return written;
  if (protect(header, now)) {
    if (const auto written = file_->write(header); !written) return written;
  }
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
  const bool kept = spec_->at_least.count() > 0;
  if ((entry_ > 0 || kept || spec_->lock_delay.count() > 0) && file_->guard()) {
    const Guarded guarded(*file_);
    auto header = file_->read_header();
    const bool delays = header && (header->delay_ticket == ticket_ || kept);
    if (delays && header->revoked < ticket_ && !others_inside()) {
      header->delay_ticket = 0;
      if (kept) header->delay_until_ns = 0;
      static_cast<void>(static_cast<bool>(file_->write(*header)));
    }
    unlock_all();
  } else {
    unlock_all();
  }
  if (record_.lock_mode() == Mode::kPermits) file_->touch();
  ticket_ = 0;
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
