// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/holder.h"
#include "lib/lock/lock_spec.h"

namespace dlock::mysql {

/// Microseconds since 1970 by the server's clock, UTC. Compared only with other readings of the same clock.
using ServerTime = std::int64_t;

/// The latest time that a row of ours can have, in 2255; a later one, or one before 1970, was not written by dlock.
inline constexpr ServerTime kLatestTime = 9'000'000'000'000'000;
/// `time` for people, kept between 1970 and kLatestTime.
WallTime wall_time(ServerTime time);

struct LeaseHolder {
  std::string owner;  ///< "-": no holder any more, only its lock-delay runs
  std::uint64_t token = 0;
  ServerTime since = 0;
  ServerTime until = 0;              ///< when the lease ends
  std::int64_t delay = 0;            ///< lock-delay: µs after `until` in which the lock stays closed
  std::uint64_t connection = 0;      ///< the server's id of its connection when it wrote this; 0: none
  std::vector<std::string> entries;  ///< the owners that are inside (re-entry), itself included
  std::string who;                   ///< who_text(), of a permit with_slot()

  bool operator==(const LeaseHolder&) const = default;
};

/// The row of one lock: its holders and the last token. Every decision about a lock is made from one reading of its
/// row, and written only if the row's version is still the same (compare and set), so no transaction is needed.
struct LeaseRow {
  std::uint64_t version = 0;  ///< 0: there is no row yet
  std::uint64_t fence = 0;    ///< the last token that was granted
  Mode mode = Mode::kExclusive;
  int permits = 0;
  std::vector<LeaseHolder> holders;

  bool operator==(const LeaseRow&) const = default;
};

/// The text in the row for `holders`: a line each, readable by people. Only the last part, `who`, may contain any
/// characters.
std::string encode_holders(const std::vector<LeaseHolder>& holders);
/// SQL expressions for the parts of a holder that only the server knows.
struct HolderInSql {
  std::string token, since, until, connection;
};
/// The line of encode_holders() for one holder, as an SQL expression.
std::string encode_in_sql(const LeaseHolder& holder, const HolderInSql& known);
/// nullopt for what encode_holders() cannot have made.
std::optional<std::vector<LeaseHolder>> decode_holders(std::string_view text);

std::optional<Mode> mode_of_letter(std::string_view letter);  ///< see mode_letter()

/// A holder for people, without its end.
Participant participant_of(const LeaseHolder& holder);
/// The row for people, as of `now`.
LockState state_of(const LeaseRow& row, const LockName& name, const std::string& store, ServerTime now);

}  // namespace dlock::mysql
