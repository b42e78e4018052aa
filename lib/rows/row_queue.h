// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/keeper/acquisition.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Who waits, as others see it.
struct WaitingNote {
  std::string owner;
  Mode mode = Mode::kExclusive;
  std::int64_t since = 0;  ///< by the store's clock
  std::string who;
  bool takes = true;  ///< false: only wants to know when the lock is free (`dlock wait`); not shown as a waiter
};

/// A queue of the store itself beside the rows of a group (a named lock of the server). Who is at its head keeps the
/// others behind it until it steps out or its connection ends; the store wakes the next one, and nobody else. It
/// decides nothing: the rows do. Calls are about one group, on the connection of the Rows.
class RowQueue {
 public:
  virtual ~RowQueue() = default;

  /// The server turned out to have none, or each node its own. Known after a look.
  virtual bool is_missing() const = 0;
  virtual bool at_head() const = 0;

  /// Goes to the head if nobody is there, and reads the row; one round trip.
  virtual Result<Rows::Look> look(const LockName& group, const std::string& key, const CallLimit& limit) = 0;
  /// The same, but at the head fills the row (Rows::Change::kFill) before it reads it.
  virtual Result<Rows::Look> fill(const LockName& group, const std::string& key, const std::string& text,
                                  const CallLimit& limit) = 0;

  struct Turn {
    std::optional<Rows::Look> filled = {};  ///< at the head, and the row was filled
    TimePoint sent{};                       ///< before that was asked for
    bool unknown = false;                   ///< it may have been filled
  };
  /// Waits for the head, as Acquisition::wait_on() does, and then at once fills the row if `note` takes it.
  virtual Turn wait(const LockName& group, const std::string& key, const std::string& text, const WaitingNote& note,
                    std::optional<TimePoint> until, Acquisition& acquisition, Control& control) = 0;

  /// Rows::commit(), and steps out in the same round trip if it was made.
  virtual Result<Rows::Number> commit_and_leave(const LockName& group, const Rows::Commit& commit,
                                                const CallLimit& limit) = 0;
  virtual void leave(const LockName& group, const CallLimit& limit) = 0;

  /// Another connection, for questions during wait().
  virtual Rows& beside() = 0;
  /// Who waits, as far as this account may see, in order: for one group, or for all.
  virtual Result<std::map<std::string, std::vector<Participant>>> waiters(const LockName* group,
                                                                          const CallLimit& limit) = 0;
};

}  // namespace dlock
