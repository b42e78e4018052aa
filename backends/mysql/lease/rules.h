// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/mysql/lease/record.h"
#include "lib/base/time.h"

namespace dlock::mysql {

/// The decisions about the row of a lock. All pure: from the row as it was read, and the server's time at that reading,
/// to the row that should take its place. The write compares the version (LeaseStore::change), so of two decisions from
/// the same reading at most one is carried out.

/// `d` in microseconds, the unit of the rows.
std::int64_t whole_micros(Duration d);

struct LeaseAsk {
  Owner owner;
  Mode mode = Mode::kExclusive;
  int permits = 0;
  Duration ttl{0};
  Duration lock_delay{0};
  std::string who;
  std::uint64_t connection = 0;
  std::vector<std::string> slots = {};  ///< names for the permits; empty: numbers
};

/// The lock can be taken: it is ours once `next` is written.
struct LeaseTake {
  LeaseRow next;
  std::string owner;
  std::uint64_t token = 0;
  std::string slot = {};
  bool already = false;  ///< it was ours before: an answer had been lost
};
struct LeaseBusy {
  std::int64_t remaining = 0;  ///< µs until the next lease ends by itself
};
/// The request does not agree with the holders on mode or permits; `held` says how they hold it.
struct LeaseDisagreement {
  std::string held;
};
using LeaseDecision = std::variant<LeaseTake, LeaseBusy, LeaseDisagreement>;

/// The holder that try_take() adds to a free row, without token and times, which LeaseStore::take() lets the server
/// fill in.
LeaseHolder newcomer(const LeaseAsk& ask);

LeaseDecision try_take(const LeaseRow& row, const LeaseAsk& ask, ServerTime now);

/// Whether the lock is free and no lock-delay runs.
bool is_free(const LeaseRow& row, ServerTime now);

/// The row in which the lease of `owner` ends `ttl` from `now`, but not earlier than before unless `exact`. nullopt:
/// `owner` does not hold the lock, or its lease is over: that is never extended.
std::optional<LeaseRow> extend(const LeaseRow& row, const std::string& owner, Duration ttl, bool exact, ServerTime now,
                               const std::string& ran = {});

/// The row without `entry` in the hold of `owner` (nullptr: without the whole hold, which also ends with its last
/// entry). nullopt: there is no such entry or hold.
std::optional<LeaseRow> give_back(const LeaseRow& row, const std::string& owner, const std::string* entry,
                                  ServerTime now);

/// The row with a line that says that `owner` has given up, and counts for nothing else. It is written while a take of
/// `owner` may still arrive at the server, which then finds another row than it expects.
LeaseRow given_up(LeaseRow row, const std::string& owner);

/// The row without its holders, whose lock-delay begins. nullopt: they are not exactly the holders in `shown`.
std::optional<LeaseRow> force_free(const LeaseRow& row, const LockState& shown, ServerTime now);

/// The row in whose holders of `shown` stands who asks them to end (lib/lock/who_text.h). What was asked first stays.
/// nullopt: none of them is in it.
std::optional<LeaseRow> ask_back(const LeaseRow& row, const LockState& shown, const std::string& by);

/// The row without the holders whose lease and lock-delay are over. nullopt: there are none.
std::optional<LeaseRow> sweep(const LeaseRow& row, ServerTime now);

/// nullptr: `owner` is not among the holders.
const LeaseHolder* find_holder(const LeaseRow& row, const std::string& owner);

}  // namespace dlock::mysql
