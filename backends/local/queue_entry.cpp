// SPDX-License-Identifier: Apache-2.0
#include "backends/local/queue_entry.h"

#include <algorithm>

#include "backends/local/files/byte_locks.h"
#include "backends/local/files/process.h"
#include "lib/base/process.h"
#include "lib/lock/lock_errors.h"

namespace dlock::local {
namespace {

constexpr std::int64_t kStartTick = 20'000'000;  ///< a process's start is known to a clock tick only

std::int64_t boot_ns(TimePoint point) { return point.time_since_epoch().count(); }

std::string population(std::uint32_t permits) {
  return permits == 0 ? "shared" : std::to_string(permits) + (permits == 1 ? " permit" : " permits");
}

}  // namespace

Result<std::unique_ptr<LockFile>> QueueEntry::open(LocalContext& context, const LockSpec& spec) {
  if (context.spare && context.spare->is_for(spec.name) && context.spare_kept_by == own_pid()) {
    return std::move(context.spare);
  }
  const auto dir = context.directory();
  if (!dir && spec.name.is_path() && !spec.ancestor && context.has_no_directory()) {
    TRY_ASSIGN(auto own, LockFile::private_one(spec.name.text()));
    return std::make_unique<LockFile>(std::move(own));
  }
  if (!dir) return dir.error();
  TRY_ASSIGN(auto file, LockFile::open(**dir, lock_file_name(spec.name), spec.name.text()));
  return std::make_unique<LockFile>(std::move(file));
}

/// The short way: guard, ticket and a clear view in a single lock call. False, with nothing done, when anything at all
/// is not as simple as that.
Result<bool> QueueEntry::enter_alone(TimePoint now, WallTime wall) {
  const Ticket ticket = next_ticket(Header(), wall.time_since_epoch().count());
  if (side_ != Side::kWriters || spec_->ancestor || ticket > kMaxTicket) return false;
  const Range whole = alone(ticket);
  if (try_write_lock(file_->fd(), whole) != 0) return false;
  const LockFile::Look look = file_->look();
  auto header = look.removed ? Result<Header>(Header()) : file_->read_header();
  const bool simple = header && header->known && header->counter < ticket && header->delay_ticket == 0 &&
                      header->oldest_lease == 0 && header->delay_until_ns <= boot_ns(now);
  if (!simple) {
    unlock_bytes(file_->fd(), whole);
    return false;
  }
  header->counter = ticket;
  header->last_writer = ticket;
  ticket_ = ticket;
  const auto written = write_down(*header, now, wall, true);
  if (!written) {
    ticket_ = 0;
    unlock_bytes(file_->fd(), whole);
    return written.error();
  }
  unlock_bytes(file_->fd(), {whole.first + 1, whole.last});
  // Other machines see the times of a file late, and have clocks of their own.
  const bool tells = !context_->settings.allow_network_fs;
  if (tells && differs_from_later(look.touched_ns, wall.time_since_epoch().count())) quiet_since_ns_ = look.touched_ns;
  return true;
}

Result<QueueEntry::Step> QueueEntry::enter(TimePoint now, WallTime wall, bool queue) {
  TRY_ASSIGN(const auto at_once, enter_alone(now, wall));
  if (at_once) return Step::kGranted;
  TRY_ASSIGN(const auto got, file_->try_guard());
  if (!got) return Step::kGuardStuck;
  const Guarded guarded(*file_);
  if (file_->removed()) return Step::kStartOver;
  TRY_ASSIGN(auto read, file_->read_header());
  Header header = read;
  TRY(learn_from_living(header));
  look_at_leases(header, now);
  if (spec_->ancestor) {
    TRY_ASSIGN(const auto joined, join(header));
    if (joined) return Step::kGranted;
  }
  if (auto clash = disagreement(header)) return *clash;
  const bool delayed = note_delay(header, now);
  const Ticket next = next_ticket(header, wall.time_since_epoch().count());
  TRY_ASSIGN(const auto others, excluded(next, header.revoked));
  TRY_ASSIGN(const auto permit, others ? Result<bool>(false) : permit_free(next, header.revoked));
  const bool kept_out = excluded_by_lease(next) || delayed;
  if ((!permit || kept_out) && !queue) {
    const bool noted = header.delay_until_ns != read.delay_until_ns || header.oldest_lease != read.oldest_lease;
    if (noted) TRY(file_->write(header));
    return Step::kBusy;
  }
  TRY(draw(header, now, wall, permit && !kept_out));
  if (!permit) return Step::kQueued;
  return kept_out ? Step::kDelayed : Step::kGranted;
}

Result<QueueEntry::Step> QueueEntry::advance(TimePoint now, WallTime wall) {
  TRY_ASSIGN(const auto got, file_->try_guard());
  if (!got) return Step::kGuardStuck;
  const Guarded guarded(*file_);
  if (file_->replaced()) return Step::kStartOver;
  TRY_ASSIGN(auto read, file_->read_header());
  Header header = read;
  if (header.revoked >= ticket_) return Step::kStartOver;
  revoked_ = header.revoked;
  predecessor_ = 0;
  look_at_leases(header, now);
  TRY_ASSIGN(const auto others, excluded(ticket_, header.revoked));
  if (others) return Step::kQueued;
  TRY_ASSIGN(const auto permit, permit_free(ticket_, header.revoked));
  if (!permit) {
    const auto before = queued_before(ticket_, header.revoked);
    return before && any_write_lock(file_->fd(), *before) ? Step::kQueued : Step::kFirstInLine;
  }
  const bool delayed = note_delay(header, now);
  if (excluded_by_lease(ticket_) || delayed) {
    TRY(file_->write(header));
    return Step::kDelayed;
  }
  TRY(grant(header, now, wall));
  return Step::kGranted;
}

Result<QueueEntry::Step> QueueEntry::probe(TimePoint now) {
  if (file_->removed()) return Step::kStartOver;
  TRY_ASSIGN(const auto live, file_->live());  // first: who leaves a lease has written it before its bytes go
  TRY_ASSIGN(auto header, file_->read_header());
  revoked_ = header.revoked;
  look_at_leases(header, now);
  seen_counter_ = std::max<Ticket>(header.counter, live.empty() ? 0 : live.back().ticket);
  const bool busy = std::any_of(live.begin(), live.end(), [&](const LiveTicket& one) {
    return one.ticket > revoked_ && (spec_->mode == Mode::kExclusive || one.side == Side::kWriters);
  });
  if (busy) return Step::kQueued;
  TRY_ASSIGN(const auto permit, permit_free(seen_counter_ + 1, revoked_));
  if (!permit) return Step::kFirstInLine;
  const bool delayed = note_delay(header, now);
  return excluded_by_lease(seen_counter_ + 1) || delayed ? Step::kDelayed : Step::kGranted;
}

std::vector<Range> QueueEntry::awaited() const {
  if (ticket_ == 0) return excluding(side_, seen_counter_ + 1, revoked_);
  std::vector<Range> ranges;
  if (predecessor_ > revoked_) {
    ranges.push_back(ticket_bytes(Side::kWriters, predecessor_));
    if (side_ == Side::kWriters) ranges.push_back(ticket_bytes(Side::kReaders, predecessor_));
  }
  for (const Range& range : excluding(side_, ticket_, revoked_)) ranges.push_back(range);
  if (spec_->mode != Mode::kPermits) return ranges;
  if (seen_counter_ > revoked_) ranges.push_back(queue_byte(seen_counter_));
  if (const auto before = queued_before(ticket_, revoked_)) ranges.push_back(*before);
  return ranges;
}

Result<bool> QueueEntry::revoked() const {
  TRY_ASSIGN(const auto header, file_->read_header());
  return header.revoked >= ticket_;
}

Result<bool> QueueEntry::lost() const {
  if (file_->removed()) return true;
  return revoked();
}

Result<bool> QueueEntry::lost_since_grant() const {
  const LockFile::Look look = file_->look();
  if (look.removed) return true;
  if (quiet_since_ns_ != 0 && look.touched_ns == quiet_since_ns_) return false;
  return revoked();
}

std::string QueueEntry::told(Record::Flag flag) const {
  const auto record = index_ ? file_->read_record(*index_) : std::nullopt;
  const bool is_told = record && record->ticket == ticket_ && (record->flags & flag);
  return is_told ? file_->reason_of({*index_, *record}) : std::string();
}

Result<bool> QueueEntry::queue_changed() const {
  if (file_->removed()) return true;
  TRY_ASSIGN(const auto header, file_->read_header());
  return header.revoked != revoked_;
}

std::vector<LiveTicket> QueueEntry::before(const Header& header) const {
  auto live = file_->live();
  if (!live) return {};
  auto all = with_leases(std::move(*live), standing_leases(*file_, header, context_->runtime.clock.now()));
  std::erase_if(all, [&](const LiveTicket& one) { return one.ticket <= header.revoked || one.ticket >= ticket_; });
  return all;
}

/// Whose state cannot be known (another pid namespace, no record) is not stopped. Who was granted the lock has it.
bool QueueEntry::all_stopped(const std::vector<LiveTicket>& tickets) const {
  const auto records = file_->read_records();
  const auto is_stopped = [&](const LiveTicket& ticket) {
    return std::any_of(records.begin(), records.end(), [&](const LockFile::Placed& placed) {
      const Record& record = placed.record;
      if (record.ticket != ticket.ticket || (record.flags & Record::kGranted)) return false;
      if (record.pid_namespace == 0 || record.pid_namespace != context_->own_pid_namespace()) return false;
      const auto process = look_up_process(static_cast<pid_t>(record.pid));
      if (!process || started_ns(process->id) > record.drawn_boot_ns + kStartTick) return false;
      return process->state == 'T' || is_frozen(*process);
    });
  };
  return !tickets.empty() && std::all_of(tickets.begin(), tickets.end(), is_stopped);
}

Duration QueueEntry::look_pause() const {
  const auto header = file_->read_header();
  return queue_look_pause(header ? header->ring : 0);
}

bool QueueEntry::only_stopped_before() const {
  const auto header = file_->read_header();
  if (!header || header->revoked >= ticket_) return false;
  // Nearly always the one that the kernel names goes on. All of them would be a request each, in each of as many
  // waiters.
  for (const Range& range : excluding(side_, ticket_, header->revoked)) {
    const auto found = find_a_write_lock(file_->fd(), range);
    if (!found) return false;
    const auto& one = *found;
    if (one && one->first >= range.first && !all_stopped(live_tickets({*one}))) return false;
  }
  return all_stopped(before(*header));
}

Result<bool> QueueEntry::pass_over(TimePoint now) {
  TRY_ASSIGN(const auto got, file_->try_guard());
  if (!got) return false;
  const Guarded guarded(*file_);
  if (file_->replaced()) return false;
  TRY_ASSIGN(auto header, file_->read_header());
  const auto older = before(header);
  if (header.revoked >= ticket_ || !all_stopped(older)) return false;
  look_at_leases(header, now);
  note_delay(header, now);
  header.revoked = older.back().ticket;
  TRY(file_->write(header));
  file_->touch();
  return true;
}

/// Confirms the ancestor's claim and joins its hold. False if the claim is stale: then it never was.
Result<bool> QueueEntry::join(const Header& header) {
  const Ticket outer = spec_->ancestor->token.value();
  if (outer == 0 || outer > header.counter || outer <= header.revoked) return false;
  for (const auto& [index, record] : file_->read_records()) {
    if (record.ticket != outer || record.owner_text() != spec_->ancestor->owner.text()) continue;
    const Side side = side_of(record.lock_mode());
    TRY_ASSIGN(const auto living, find_a_write_lock(file_->fd(), ticket_bytes(side, outer)));
    if (!(record.flags & Record::kGranted) || (!living && !is_lease(outer))) return false;
    if (auto why = why_not_entered(record.lock_mode(), static_cast<int>(record.permits), *spec_)) return *why;
    for (int entry = 1; entry < kMaxEntries; ++entry) {
      if (try_write_lock(file_->fd(), entry_byte(side, outer, entry)) != 0) continue;
      side_ = side;
      ticket_ = outer;
      entry_ = entry;
      record_ = record;
      index_ = index;
      return true;
    }
    return Error{ErrorCode::kUnsupported, spec_->name.text() + " is entered too often: " +
                                              std::to_string(kMaxEntries - 1) + " nested holds at most"};
  }
  return false;
}

/// Readers of one key must agree whether they share or count. With no reader alive, ours is the new agreement.
std::optional<Error> QueueEntry::disagreement(Header& header) const {
  if (side_ == Side::kWriters) return std::nullopt;
  const std::uint32_t wanted = spec_->mode == Mode::kPermits ? static_cast<std::uint32_t>(spec_->permits) : 0;
  if (header.reader_permits == wanted) return std::nullopt;
  const auto readers = readers_before(kMaxTicket, header.revoked);
  TRY_ASSIGN(const auto living, readers ? find_a_write_lock(file_->fd(), *readers) : std::optional<Range>());
  const bool leased = std::any_of(leases_.begin(), leases_.end(), [](const LockFile::Placed& one) {
    return side_of(one.record.lock_mode()) == Side::kReaders;
  });
  if (living || leased) {
    return Error{ErrorCode::kConflict,
                 spec_->name.text() + " is in use with " + population(header.reader_permits) + ", not with " +
                     population(wanted),
                 "callers of one key must agree: see dlock inspect " + spec_->name.typed()};
  }
  header.reader_permits = wanted;
  return std::nullopt;
}

/// A blank header beside living tickets is a file whose content was lost. Its queue is still there, in the kernel.
Result<void> QueueEntry::learn_from_living(Header& header) const {
  if (header.known) return {};
  TRY_ASSIGN(const auto live, file_->live());
  for (const LiveTicket& one : live) {
    header.counter = std::max<std::uint64_t>(header.counter, one.ticket);
    if (one.side == Side::kWriters) header.last_writer = one.ticket;
  }
  return {};
}

void QueueEntry::look_at_leases(Header& header, TimePoint now) {
  delayed_until_.reset();
  if (header.oldest_lease != 0 || header.delay_until_ns != 0) forget_earlier_boot(header, this_boot());
  leases_ = standing_leases(*file_, header, now);
  header.oldest_lease = leases_.empty() ? 0 : leases_.front().record.ticket;
}

bool QueueEntry::is_lease(Ticket ticket) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& one) { return one.record.ticket == ticket; });
}

/// Whether a lock-delay runs. A holder with one that has ended without a release starts it now.
bool QueueEntry::note_delay(Header& header, TimePoint now) {
  const Ticket delaying = header.delay_ticket;
  const bool lives = delaying == 0 || delaying == ticket_ || is_lease(delaying) ||
                     (delaying > header.revoked && file_->alive(Side::kWriters, delaying));
  if (!lives) begin_delay(header, now + Duration(header.delay_ns), this_boot());
  if (header.delay_until_ns <= boot_ns(now)) return false;
  delayed_until_ = earlier(delayed_until_, TimePoint(Duration(header.delay_until_ns)));
  return true;
}

/// By one older than `ticket`.
bool QueueEntry::excluded_by_lease(Ticket ticket) {
  auto older = leases_;
  std::erase_if(older, [&](const LockFile::Placed& one) {
    const bool excludes = side_ == Side::kWriters || side_of(one.record.lock_mode()) == Side::kWriters;
    return one.record.ticket >= ticket || !excludes;
  });
  delayed_until_ = earlier(delayed_until_, first_end(older));
  return !older.empty();
}

Result<bool> QueueEntry::excluded(Ticket ticket, Ticket revoked) const {
  for (const Range& range : excluding(side_, ticket, revoked)) {
    TRY_ASSIGN(const auto other, find_a_write_lock(file_->fd(), range));
    if (other) return true;
  }
  return false;
}

/// Once true it stays true: older tickets only ever get fewer.
Result<bool> QueueEntry::permit_free(Ticket ticket, Ticket revoked) {
  if (spec_->mode != Mode::kPermits) return true;
  const auto before = readers_before(ticket, revoked);
  if (!before) return true;
  TRY_ASSIGN(const auto locks, find_write_locks(file_->fd(), *before));
  auto holders = with_leases(live_tickets(locks), leases_);
  std::erase_if(holders, [&](const LiveTicket& one) { return one.side == Side::kWriters || one.ticket >= ticket; });
  if (holders.size() < static_cast<std::size_t>(spec_->permits)) return true;
  delayed_until_ = earlier(delayed_until_, first_end(leases_));
  return false;
}

}  // namespace dlock::local
