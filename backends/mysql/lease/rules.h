// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/mysql/lease/record.h"
#include "lib/base/time.h"

namespace dlock::mysql {

/// What may be done with a row, all of it pure: the row as it was read, the server's time at that reading, and the row
/// that should take its place. Whoever writes it compares the version, so two decisions from one reading never both
/// come true.

/// In the unit of the rows.
std::int64_t whole_micros(Duration d);

struct LeaseAsk {
  Owner owner;
  Mode mode = Mode::kExclusive;
  int permits = 0;
  Duration ttl{0};
  Duration lock_delay{0};
  std::optional<HeldClaim> ancestor;
  std::string who;
  std::uint64_t connection = 0;
  std::vector<std::string> slots = {};  ///< names for the permits; empty: numbers
};

/// It can be ours: once `next` is written, it is.
struct LeaseTake {
  LeaseRow next;
  std::string owner;  ///< whose hold it is: ours, or the ancestor's
  std::uint64_t token = 0;
  std::string slot = {};
  bool joined = false;   ///< entered the ancestor's hold
  bool already = false;  ///< it was ours before: an answer had been lost
};
struct LeaseBusy {
  std::int64_t remaining = 0;  ///< µs until somebody's lease ends by itself
};
/// Callers of one key do not agree: `held` says how it is held.
struct LeaseDisagreement {
  std::string held;
};
/// It would wait for the hold that it is inside of.
struct LeaseInside {};
using LeaseDecision = std::variant<LeaseTake, LeaseBusy, LeaseDisagreement, LeaseInside>;

/// What try_take() adds to a row that nobody holds, without its token and times, which whoever writes it has from the
/// server.
LeaseHolder newcomer(const LeaseAsk& ask);

LeaseDecision try_take(const LeaseRow& row, const LeaseAsk& ask, ServerTime now);

/// Nobody holds it, and no lock-delay runs.
bool is_free(const LeaseRow& row, ServerTime now);

/// `owner`'s lease ends `ttl` from now; never earlier than it did unless `exact`. nullopt: it is not `owner`'s (any
/// more): a lease that is over is never brought back.
std::optional<LeaseRow> extend(const LeaseRow& row, const std::string& owner, Duration ttl, bool exact, ServerTime now);

/// Without `entry` of the hold of `owner` (nullptr: the whole hold); the lock is free when the last one has left.
/// nullopt: it was not there.
std::optional<LeaseRow> give_back(const LeaseRow& row, const std::string& owner, const std::string* entry,
                                  ServerTime now);

/// A write of `owner`'s that comes later than this row finds that it has given up: a line of it that counts for
/// nothing.
LeaseRow given_up(LeaseRow row, const std::string& owner);

/// Without its holders, if they are exactly those of `shown`; their lock-delay begins. nullopt: they are others.
std::optional<LeaseRow> force_free(const LeaseRow& row, const LockState& shown, ServerTime now);

/// Without the holders whose lease and lock-delay are over. nullopt: there are none.
std::optional<LeaseRow> sweep(const LeaseRow& row, ServerTime now);

const LeaseHolder* find_holder(const LeaseRow& row, const std::string& owner);

}  // namespace dlock::mysql
