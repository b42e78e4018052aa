// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/postgres/connection/connection.h"
#include "lib/base/result.h"
#include "lib/net/serving_one.h"

namespace dlock::postgres {

/// The servers of a URL, one of which takes changes, and one connection to that one. When it is gone, read-only or does
/// not answer, the next connect() looks for the writable server again, beginning with the one that worked last.
/// Single-threaded.
class Servers {
 public:
  Servers(Settings settings, Clock& clock)
      : settings_(std::move(settings)), clock_(clock), one_(settings_.servers.size(), clock) {}

  /// A connection to the writable server: the present one if it is usable. Errors: Unavailable (undone), naming every
  /// server that was tried and its reason; Denied, Misconfigured if one of them said so; Cancelled when control wants
  /// it.
  Result<Connection*> connect(const CallLimit& limit);

  /// Runs one statement, which is a transaction, on that server; repeats it where another transaction was in its way.
  /// Errors as of connect() and error_of().
  Result<Answer> run(const std::string& statement, const std::vector<std::string>& params, const CallLimit& limit);

  /// Whether a pooler stands in between: another server process than the connection's answers.
  Result<bool> is_pooled(const CallLimit& limit);

  /// The present connection, or nullptr; it may be broken.
  Connection* current() const { return one_.current(); }
  void close() { one_.close(); }
  /// The number of the present connection. A new one means that what the old connection held and heard is gone.
  int generation() const { return one_.generation(); }
  /// The error that `failure` of a statement on the present connection means; drops that if it is gone. If the server
  /// takes no changes, too: the next connect() then begins with the server after it.
  Error failed(const Failure& failure);

  std::string server() const { return settings_.servers[one_.at()].text(); }  ///< of the present or last connection
  const Settings& settings() const { return settings_; }
  Clock& clock() const { return clock_; }

 private:
  using Opened = Result<std::unique_ptr<Connection>>;
  Opened open(std::size_t index, const CallLimit& limit);
  Opened open_at(std::size_t index, const Address* address, bool writable, const CallLimit& limit);

  Settings settings_;
  Clock& clock_;
  ServingOne<Connection> one_;
  bool only_reads_ = false;   ///< why the last address was none
  bool had_primary_ = false;  ///< since we were made, at whatever address
};

}  // namespace dlock::postgres
