// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/row_lock/rules.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Behind those who are listed.
void list_more_waiters(LockState& state, std::vector<Participant> more);

/// Before a record is read again that another was faster to change: where a hundred change it at the same time, most of
/// what they send would be in vain.
Duration race_rest(int races);

/// The rows of one lock. Errors: those of Rows, and Misconfigured for a row that dlock did not write.
class RecordStore {
 public:
  /// What they name outlives it.
  RecordStore(Rows& rows, const LockName& name, Clock& clock) : rows_(rows), name_(name), clock_(clock) {}

  Result<RecordReading> read(const CallLimit& limit);
  /// The same of its row, as it was read at `now`.
  Result<RecordReading> understood(const Rows::Row& row, StoreTime now, TimePoint sent) const;

  /// Fills the row of a lock that is free, and of which there is nothing else to remember. nullopt: it is not.
  Result<std::optional<RecordReading>> take_free(const LeaseAsk& ask, const CallLimit& limit);

  /// What takes the place of a record.
  struct Next {
    LockRecord record;
    StoreTime before = 0;                ///< written only before this moment; 0: at any time
    std::vector<std::string> tell = {};  ///< to these owners, beside those who may go now
    bool leaves = false;                 ///< and the head of the store's queue is left
  };
  /// Replaces the record that was read, and tells who is next if this makes room. nullopt: another was faster, or it is
  /// too late.
  Result<std::optional<RecordReading>> write(const RecordReading& read, const Next& next, const CallLimit& limit);

  struct Rewritten {
    RecordReading before;
    RecordReading after;
  };
  using Make = std::function<std::optional<Next>(const RecordReading& reading)>;
  /// Replaces the record by what `make` makes of it; starts over if another was faster, or if an answer was lost, which
  /// sets *unanswered. nullopt: `make` made nothing of it. `known`: the first reading, if it is known.
  Result<std::optional<Rewritten>> rewrite(const Make& make, const CallLimit& limit, bool* unanswered = nullptr,
                                           std::optional<RecordReading> known = {});

  /// Lists those in the store's own queue, too.
  Result<void> add_queue(LockState& state, const CallLimit& limit);

  /// Forgets all of a free lock whose row, without a text, was read. False: it is not as it was.
  Result<bool> forget(const Rows::Row& free, const CallLimit& limit);

 private:
  Result<std::optional<RecordReading>> commit(const Rows::Commit& commit, const std::string& text, bool leaves,
                                              const CallLimit& limit);
  Rows& rows_;
  const LockName name_;
  Clock& clock_;
};

}  // namespace dlock
