// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/lock/holder.h"
#include "lib/rows/rows.h"

namespace dlock {

/// A lock is the row kLockRow of the group with its name; without a text it is free, and the row's version, which only
/// grows, is all that is remembered. So whoever fills it needs to know nothing, and the number of the commit that
/// grants is the token.
inline constexpr RowSpace kLockSpace{.name = "lock"};
inline constexpr char kLockRow[] = "lock";

/// Microseconds since 1970 by the store's clock. Compared only with other readings of the same clock.
using StoreTime = std::int64_t;
/// The latest time that a record of ours can have, in 2255; a later one, or one before 1970, was not written by dlock.
inline constexpr StoreTime kLatestTime = 9'000'000'000'000'000;
/// `time` for people, kept between 1970 and kLatestTime.
WallTime wall_time(StoreTime time);
/// `d` in microseconds, the unit of the records.
std::int64_t whole_micros(Duration d);

inline constexpr char kNobody[] = "-";
struct LeaseHolder {
  std::string owner = {};   ///< kNobody: no holder any more, only its lock-delay runs
  std::uint64_t token = 0;  ///< 0: the number of the commit that writes it
  StoreTime since = 0;      ///< 0: when it is written
  StoreTime until = 0;      ///< when the lease ends, if `lasts` is 0
  std::int64_t lasts = 0;   ///< or how long after it is written
  std::int64_t delay = 0;   ///< lock-delay: µs after the end in which the lock stays closed
  std::string who = {};     ///< who_text(), of a permit with_slot()

  bool operator==(const LeaseHolder&) const = default;
};

struct LeaseWaiter {
  std::string owner;
  Mode mode = Mode::kExclusive;
  StoreTime since = 0;     ///< 0: when it is written
  StoreTime until = 0;     ///< not heard of by then, it is passed over, if `lasts` is 0
  std::int64_t lasts = 0;  ///< or so long after it is written
  std::string who = {};    ///< who_text()

  bool operator==(const LeaseWaiter&) const = default;
};

/// Every decision about a lock is made from one reading of its record, and written only if the row has the same version
/// still. As it was read, all times are moments; one that is written may have some that only the store knows.
struct LockRecord {
  std::uint64_t version = 0;  ///< 0: there is no row
  Mode mode = Mode::kExclusive;
  int permits = 0;
  std::vector<LeaseHolder> holders = {};
  std::vector<LeaseWaiter> waiters = {};  ///< first come first
  bool ahead = false;  ///< the store's clock has gone back since it was written: what counts from then has to be
                       ///< written as moments

  bool operator==(const LockRecord&) const = default;
};

/// One reading of a record.
struct RecordReading {
  LockRecord record;
  StoreTime now = 0;
  TimePoint sent{};  ///< before it was asked for
};

/// A line for mode and permits, and one each for the holders and waiters, readable by people. Empty for a free lock
/// without waiters.
std::string encode_record(const LockRecord& record);
/// As it stands in `row`, read when the store's clock was at `now`. nullopt: encode_record() cannot have made it.
std::optional<LockRecord> decode_record(const Rows::Row& row, StoreTime now);

std::optional<Mode> mode_of_letter(std::string_view letter);  ///< see mode_letter()

/// The record for people, as of `now`.
LockState state_of(const LockRecord& record, const LockName& name, const std::string& store, StoreTime now);

}  // namespace dlock
