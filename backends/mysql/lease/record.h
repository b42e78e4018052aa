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

/// Microseconds of the server's clock, UTC, since 1970. Only compared with other readings of that clock.
using ServerTime = std::int64_t;

/// A row is whatever somebody wrote: a later time, or an earlier one than 1970, is none of ours. In 2255.
inline constexpr ServerTime kLatestTime = 9'000'000'000'000'000;
/// For people, within these limits.
WallTime wall_time(ServerTime time);

struct LeaseHolder {
  std::string owner;  ///< "-": nobody any more, only the delay runs
  std::uint64_t token = 0;
  ServerTime since = 0;
  ServerTime until = 0;              ///< the lease ends
  std::int64_t delay = 0;            ///< µs after that in which nobody gets the lock
  std::uint64_t connection = 0;      ///< the server's id of its connection, 0: none
  std::vector<std::string> entries;  ///< the owners that are inside (re-entry), itself included
  std::string who;                   ///< who_text(), of a permit with_slot()

  bool operator==(const LeaseHolder&) const = default;
};

/// The row of one lock: who has it, and the last token. All that is ever decided about a lock is decided from one
/// reading of its row, and written only if its version is still the same (compare and set): a row is the critical
/// section, and needs no transaction.
struct LeaseRow {
  std::uint64_t version = 0;  ///< 0: there is no row yet
  std::uint64_t fence = 0;    ///< the last token that was granted
  Mode mode = Mode::kExclusive;
  int permits = 0;
  std::vector<LeaseHolder> holders;

  bool operator==(const LeaseRow&) const = default;
};

/// The holders as the row keeps them: a line each, readable by people. Only the last part, `who`, may hold anything.
std::string encode_holders(const std::vector<LeaseHolder>& holders);
/// What the server knows of a holder: SQL expressions.
struct HolderInSql {
  std::string token, since, until, connection;
};
/// The same of one holder, as an expression.
std::string encode_in_sql(const LeaseHolder& holder, const HolderInSql& known);
/// nullopt for what encode_holders() cannot have made.
std::optional<std::vector<LeaseHolder>> decode_holders(std::string_view text);

std::optional<Mode> mode_of_letter(std::string_view letter);  ///< see mode_letter()

/// The row for people, as of `now`.
LockState state_of(const LeaseRow& row, const LockName& name, const std::string& store, ServerTime now);

}  // namespace dlock::mysql
