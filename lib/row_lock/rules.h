// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/time.h"
#include "lib/lock/lock_spec.h"
#include "lib/row_lock/record.h"

namespace dlock {

/// The decisions about the record of a lock. All pure: from the record as it was read, and the store's time at that
/// reading, to the record that should take its place. The write compares the version, so of two decisions from the same
/// reading at most one is carried out.

struct LeaseAsk {
  Owner owner;
  Mode mode = Mode::kExclusive;
  int permits = 0;
  Duration ttl{0};
  Duration lock_delay{0};
  std::string who = {};
  std::vector<std::string> slots = {};  ///< names for the permits; empty: numbers
};
LeaseAsk ask_of(const LockSpec& spec);

/// The lock can be taken: it is ours once `next` is written.
struct LeaseTake {
  LockRecord next;
  StoreTime before = 0;  ///< it was ours already, because an answer was lost, and is to be written before this moment
};
struct LeaseBusy {
  std::int64_t remaining = 0;  ///< µs until something ends by itself that keeps us out
  std::size_t place = 0;       ///< how many waiters stand before us
};
/// The request does not agree with the holders on mode or permits; `held` says how they hold it.
struct LeaseDisagreement {
  std::string held;
};
using LeaseDecision = std::variant<LeaseTake, LeaseBusy, LeaseDisagreement>;

/// Who is not in the queue comes after all who live and are in it.
LeaseDecision try_take(const LockRecord& record, const LeaseAsk& ask, StoreTime now);

/// The record of a free lock that `ask` has taken.
LockRecord first_record(const LeaseAsk& ask);

/// Whether the lock is free and no lock-delay runs.
bool is_free(const LockRecord& record, StoreTime now);

/// The record in whose queue `ask` stands, heard of for `alive`; at its place if it stands there already.
LockRecord with_waiter(const LockRecord& record, const LeaseAsk& ask, Duration alive, StoreTime now);
/// The waiters that may go now, at the head of the queue.
std::vector<std::string> next_owners(const LockRecord& record, StoreTime now);

/// The record in which the lease of `owner` ends `ttl` from when it is written, but not earlier than before unless
/// `exact`. nullopt: `owner` does not hold the lock, or its lease is over: that is never extended. So it has to be
/// written before the end that it had.
std::optional<LockRecord> extend(const LockRecord& record, const std::string& owner, Duration ttl, bool exact,
                                 StoreTime now, const std::string& ran = {});

/// The record without the hold of `owner`, and without its place in the queue. nullopt: it has neither.
std::optional<LockRecord> give_back(const LockRecord& record, const std::string& owner, StoreTime now);

/// The record with a line that says that `owner` has given up, and counts for nothing else. It is written while a take
/// of `owner` may still arrive at the store, which then does not find what it expects.
LockRecord given_up(LockRecord record, const std::string& owner);

/// The record in which nobody has the places of its holders, until their lock-delays are over. nullopt: they are not
/// exactly the holders in `shown`.
std::optional<LockRecord> force_free(const LockRecord& record, const LockState& shown, StoreTime now);

/// The record in whose holders of `shown` stands who asks them to end (lib/lock/who_text.h). What was asked first
/// stays. nullopt: none of them is in it.
std::optional<LockRecord> ask_back(const LockRecord& record, const LockState& shown, const std::string& by);

/// The record without the holders whose lease and lock-delay are over, and the waiters that were not heard of. nullopt:
/// there are none.
std::optional<LockRecord> sweep(const LockRecord& record, StoreTime now);

/// Whether `owner` stands in the queue.
bool is_queued(const LockRecord& record, const std::string& owner);

/// nullptr: `owner` is not among the holders.
const LeaseHolder* find_holder(const LockRecord& record, const std::string& owner);

}  // namespace dlock
