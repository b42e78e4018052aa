// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "backends/mysql/connection/settings.h"
#include "lib/lock/holder.h"
#include "lib/row_lock/record.h"

namespace dlock::mysql {

/// What a lock that is not a lease cannot keep itself: its last token, and who has it. For people and for fencing; it
/// decides nothing.
struct HolderRecord {
  std::uint64_t token = 0;       ///< the last one; 0: there was none
  std::uint64_t connection = 0;  ///< the server's id of the holder's connection when it took the lock
  std::string owner = {};        ///< empty: nobody
  std::string who = {};          ///< who_text()

  bool operator==(const HolderRecord&) const = default;
};
/// "CONNECTION OWNER WHO", or nothing; nobody but their writer writes such a text.
std::string encode_holder(const HolderRecord& record);
HolderRecord decode_holder(std::uint64_t token, std::string_view text);
Participant participant_of(const HolderRecord& record);

struct HolderReading {
  HolderRecord record;
  StoreTime now = 0;             ///< when the server read it
  std::uint64_t connection = 0;  ///< the server's id of ours
  bool galera = false;           ///< the server is a node of a Galera cluster
};

/// The record of one lock: a row of dlock_data, whose version is the token. Each statement is about one row, by primary
/// key, in autocommit mode. Errors: as of Servers::run(). Single-threaded.
class HolderRow {
 public:
  /// `servers` outlives it.
  HolderRow(Servers& servers, Strategy strategy, const LockName& name);

  /// kAny: a server that is read-only will do.
  enum class From { kWritable, kAny };
  Result<HolderReading> read(From from, TimePoint until, Control* control);

  /// Draws the next token: one more than the last, or the server's time, if that is more. And writes who has it.
  Result<std::uint64_t> draw(const HolderRecord& next, TimePoint until, Control* control);

  /// Replaces who has the lock, with the token of `read`, if it is still as it was read.
  Result<bool> replace(const HolderRecord& read, const HolderRecord& next, TimePoint until);

  /// Nobody has it, if the last token is still this one.
  Result<bool> clear(std::uint64_t token, TimePoint until);

  /// Whoever has it with `token`, as an SQL expression for decode_holder().
  std::string text_query(std::uint64_t token) const;

 private:
  Result<bool> change(const std::string& text, std::uint64_t token, const std::string& condition, TimePoint until);

  Servers& servers_;
  const std::string columns_;  ///< "space,name,id" of its row
  const std::string where_;    ///< " WHERE ..."
};

/// Locks of `strategy` that have a holder by their records.
Result<std::vector<LockName>> recorded_names(Servers& servers, Strategy strategy, TimePoint until);
/// The condition of the records of `strategy` without a holder whose token is more than a day older than the clock: the
/// next token is larger without them, because it comes from the clock.
std::string is_forgotten(Strategy strategy);

}  // namespace dlock::mysql
