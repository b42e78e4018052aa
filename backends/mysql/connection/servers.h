// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/database.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/control.h"
#include "lib/net/serving_one.h"

namespace dlock::mysql {

/// The query whether a server refuses changes; says_read_only() reads the answer.
inline constexpr char kAskReadOnly[] = "SELECT @@global.read_only+@@global.innodb_read_only";
bool says_read_only(const Answer& answer);

/// The servers of a URL, one of which takes changes, and one connection to that one. When it is gone, read-only or does
/// not answer, the next connect() looks for the writable server again, beginning with the one that worked last. Never
/// connects to a server that refuses changes. Single-threaded.
class Servers {
 public:
  Servers(std::vector<DatabaseSettings> servers, Dial dial, Clock& clock);

  /// A connection to the writable server: the present one if it is usable. Errors: Unavailable (undone), naming every
  /// server that was tried and its reason; Denied, Misconfigured if one of them said so; Cancelled when control wants
  /// it.
  Result<Database*> connect(TimePoint until, Control* control);

  /// Runs one statement on that server; repeats it after a deadlock or a lock wait that the server ended. Errors as of
  /// connect() and error_of().
  Result<Answer> run(const std::string& statement, TimePoint until, Control* control = nullptr);
  /// The same, but returns nullopt if another transaction has locked the row.
  Result<std::optional<Answer>> try_run(const std::string& statement, TimePoint until, Control* control);

  /// Ends a wait of the connection: breaks it, and ends its session `id` through another one if this account may,
  /// because a server takes up to a second to notice a lost client, and does not notice it in a wait for a row.
  void end_session(std::uint64_t id);
  /// Whether the server still has the session `id`, as far as this account may see. Errors as of run().
  Result<bool> is_live_session(std::uint64_t id, TimePoint until);

  /// The present connection, or nullptr; it may be broken.
  Database* current() { return one_.current(); }
  const Database* current() const { return one_.current(); }

  /// The number of the present connection. A new one means that what the old connection held (named locks, a
  /// transaction, variables) is gone.
  int generation() const { return one_.generation(); }

  /// Ends the connection; the server frees what it held.
  void close() { one_.close(); }

  /// The error that `failure` of a statement on the present connection means (undone, unless the connection was cut
  /// off); drops that if it is gone. If the server takes no changes, too: the next connect() then begins with the
  /// server after it.
  Error failed(const Failure& failure);

  std::string server() const { return servers_[one_.at()].endpoint.text(); }  ///< of the present or last connection
  std::size_t count() const { return servers_.size(); }
  const std::vector<DatabaseSettings>& all() const { return servers_; }
  const Dial& dial() const { return dial_; }
  Clock& clock() const { return clock_; }

  /// Servers for a second connection to the server of the present one, for use while that waits.
  Servers beside() const;

 private:
  using Opened = Result<std::unique_ptr<Database>>;
  Opened open(std::size_t index, const CallLimit& limit);
  Opened open_writable(std::size_t index, const CallLimit& limit);
  bool has_new_password();

  std::vector<DatabaseSettings> servers_;
  const Dial dial_;
  Clock& clock_;
  ServingOne<Database> one_;
};

}  // namespace dlock::mysql
