// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/control.h"

namespace dlock::mysql {

/// Asks a server whether it refuses changes; says_read_only() reads the answer.
inline constexpr char kAskReadOnly[] = "SELECT @@global.read_only+@@global.innodb_read_only";
bool says_read_only(const Answer& answer);

/// The servers of a URL, of which one takes changes, and one connection to that one. Statements go there; when it is
/// gone, is read-only now or does not answer, the next call looks for the writable one anew, beginning with the
/// one that was last well. It never falls back to a server that refuses changes. Single-threaded.
class Servers {
 public:
  Servers(std::vector<DatabaseSettings> servers, Dial dial, Clock& clock);

  /// A connection to the writable server: the present one if it is well. Errors: Unavailable, naming every server that
  /// was tried and its reason; Denied, Misconfigured if one of them said so; Cancelled when control wants it.
  Result<Database*> connect(TimePoint until, Control* control);

  /// The present connection, or nullptr; it may be broken.
  Database* current() { return database_.get(); }

  /// Counts connections: a new number means that everything that belonged to the old one is gone.
  int generation() const { return generation_; }

  /// Ends the connection; what it held on the server (named locks, a transaction) is free.
  void drop();

  /// The server refused a change as read-only: the next connect() begins with the one after it.
  void drop_read_only();

  const std::string& server() const { return name_; }  ///< the endpoint of the present or last connection
  void idle_seconds(int seconds);
  std::size_t count() const { return servers_.size(); }
  const std::vector<DatabaseSettings>& all() const { return servers_; }
  const Dial& dial() const { return dial_; }

  /// For a second connection to where the present one goes: to ask something while it waits.
  Servers beside() const;

 private:
  Result<void> try_one(std::size_t index, TimePoint until, Control* control);
  Result<std::unique_ptr<Database>> open(std::size_t index, TimePoint until, Control* control);

  std::vector<DatabaseSettings> servers_;
  const Dial dial_;
  Clock& clock_;
  std::unique_ptr<Database> database_;
  std::size_t at_ = 0;
  int generation_ = 0;
  std::string name_;
};

}  // namespace dlock::mysql
