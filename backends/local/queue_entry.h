// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/local/context.h"
#include "backends/local/files/rules.h"
#include "backends/local/files/standing_leases.h"
#include "backends/local/files/store.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// One acquisition's place in the queue of one key: the decisions, made under the guard, with no waiting of its own.
/// Its driver waits for awaited() and calls advance(). Destruction releases everything.
class QueueEntry {
 public:
  enum class Step {
    kGranted,      ///< it is ours (or joined: entry() > 0)
    kQueued,       ///< a ticket was drawn: wait for awaited()
    kFirstInLine,  ///< permits: no waiter is before us; any change of the file may free one
    kDelayed,      ///< no process is before us, but a lease, or a lock-delay: look again at delayed_until()
    kBusy,         ///< not to be had now, and no ticket was asked for
    kStartOver,    ///< the file was replaced, or our ticket revoked: open a new place
    kGuardStuck,   ///< the guard is taken: come back in a moment
  };

  /// The file of the key of `spec`, in which a place can be had.
  static Result<std::unique_ptr<LockFile>> open(LocalContext& context, const LockSpec& spec);

  /// `spec` and `context` must outlive the place.
  QueueEntry(LocalContext& context, const LockSpec& spec, std::unique_ptr<LockFile> file)
      : context_(&context), spec_(&spec), file_(std::move(file)), side_(side_of(spec.mode)) {}

  /// Takes the lock if it can be had at once; else draws a ticket (`queue`) or leaves nothing. Conflict if the callers
  /// of this key do not agree, Unsupported for a re-entry that would wait for itself.
  Result<Step> enter(TimePoint now, WallTime wall, bool queue);
  /// After a wait. REQUIRES: a ticket.
  Result<Step> advance(TimePoint now, WallTime wall);
  /// Is it free for us? Draws nothing (LockSpec::take is false).
  Result<Step> probe(TimePoint now);

  /// Bytes that must become free before advance() can say more, in the order in which to wait. For a probe: everything
  /// that is alive now.
  std::vector<Range> awaited() const;
  /// When the next of those ends that keep us out without a process; nullopt: there is none, or it has no time.
  std::optional<TimePoint> delayed_until() const { return delayed_until_; }

  /// Has the ticket been revoked, or the file been replaced?
  Result<bool> lost() const;
  /// The same for a ticket that was granted, in one call for two where that is enough: whoever revokes it touches the
  /// file before it lets go of the guard, and so before any other process is granted the lock.
  Result<bool> lost_since_grant() const;
  /// Have older tickets been revoked since awaited() was last computed? Then it is worth computing again.
  Result<bool> queue_changed() const;

  /// How long until the queue is worth another look.
  Duration look_pause() const;

  /// Is the queue before us only of stopped waiters (SIGSTOP, ^Z)? It would never move.
  bool only_stopped_before() const;
  /// If they are still stopped, revokes their tickets; they queue again once continued. False: nothing was done.
  Result<bool> pass_over(TimePoint now);

  /// A path key is ours only with its flock(2), too: what people see until mark_granted() is a waiter.
  void wait_for_more() { complete_ = false; }
  Result<void> note_flock_pid(std::int64_t pid);
  Result<void> mark_granted(WallTime wall, std::int64_t flock_pid);
  /// Says in the record whose pids ours is one of: for people, and therefore after the command has been started.
  Result<void> say_pid_namespace();

  /// The orderly end: lock-delay and --at-least cancelled, permits announced. Never fails: unlocking cannot.
  void release();
  /// From now on the record alone holds (standing_leases.h). `ran`: the wait status of the command that has ended.
  /// After an error the place is as it was.
  Result<void> leave(const DetachSpec& spec, std::optional<int> ran);
  /// After release(), if no other process can have the descriptor: leaves it open for the next place. Spends this
  /// one.
  void keep_file_open();
  /// True while a re-entry of the same ticket keeps the lock.
  bool others_inside() const;

  const LockFile& file() const { return *file_; }
  LockFile& file() { return *file_; }
  Ticket ticket() const { return ticket_; }
  Side side() const { return side_; }
  int entry() const { return entry_; }
  const Record& record() const { return record_; }
  /// Author and reason of a force-release; empty if there is no note of one.
  std::string freed_by() const { return told(Record::kForced); }
  /// Author and reason of a revocation; empty: none.
  std::string revoked_by() const { return told(Record::kRevoked); }
  std::optional<std::uint32_t> record_index() const { return index_; }

 private:
  std::string told(Record::Flag flag) const;
  Result<bool> revoked() const;
  Result<bool> enter_alone(TimePoint now, WallTime wall);
  Result<bool> join(const Header& header);
  std::optional<Error> disagreement(Header& header) const;
  Result<void> learn_from_living(Header& header) const;
  void look_at_leases(Header& header, TimePoint now);
  bool note_delay(Header& header, TimePoint now);
  Result<bool> excluded(Ticket ticket, Ticket revoked) const;
  bool excluded_by_lease(Ticket ticket);
  bool is_lease(Ticket ticket) const;
  std::vector<LiveTicket> before(const Header& header) const;
  bool all_stopped(const std::vector<LiveTicket>& tickets) const;
  Result<bool> permit_free(Ticket ticket, Ticket revoked);
  Result<void> draw(Header& header, TimePoint now, WallTime wall, bool granted);
  Result<void> lock_own_bytes(Header& header, Ticket first, bool granted);
  Result<void> write_down(Header& header, TimePoint now, WallTime wall, bool granted);
  Result<void> grant(Header& header, TimePoint now, WallTime wall);
  bool protect(Header& header, TimePoint now);
  void keep_from(TimePoint now);
  Error no_record() const;
  Result<Record> as_lease(const DetachSpec& spec, std::optional<int> ran) const;
  bool lease_stands(const Header& header) const;
  void cancel(Header& header);
  Result<void> write_record();
  Result<void> take_slot(const Header& header);
  void unlock_all();

  LocalContext* context_;
  const LockSpec* spec_;
  std::unique_ptr<LockFile> file_;
  Side side_;
  Ticket ticket_ = 0;
  int entry_ = 0;
  bool complete_ = true;
  Ticket predecessor_ = 0;  ///< whom to wait for first: spares the others in the queue a wake-up
  Ticket revoked_ = 0;      ///< as of the last look
  Ticket seen_counter_ = 0;
  std::vector<LockFile::Placed> leases_;  ///< that stand, as of the last look under the guard
  std::optional<TimePoint> delayed_until_;
  /// When the file was touched last before the grant, if it would show a later touch; 0: not known.
  std::int64_t quiet_since_ns_ = 0;
  Record record_;
  std::optional<std::uint32_t> index_;
};

}  // namespace dlock::local
