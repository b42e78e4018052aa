// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "lib/base/result.h"
#include "lib/keeper/call_limit.h"

namespace dlock::mysql {

/// The number in a field of an answer; 0 for NULL, or if there is no such field.
std::int64_t number_of(const Row& row, std::size_t column);

/// One transaction at a time on the writable server, in few round trips: changes are collected, and sent together when
/// something is read, the transaction ends, or they are many. After the first failure nothing more is sent, and reads
/// return no rows, until the end of the transaction. A statement waits at most two seconds for a row that another
/// transaction has locked. Single-threaded.
class Transaction {
 public:
  /// REQUIRES: the connections of `servers` take batches.
  Transaction(Servers servers, Clock& clock) : servers_(std::move(servers)), clock_(clock) {}

  /// Begins a transaction. Errors as of Servers::connect().
  Result<void> begin(const CallLimit& limit);

  /// Adds a change, which is sent at the end at the latest.
  void write(const std::string& statement);

  /// Sends the changes so far, and returns the rows of `queries` (several with ';' between them) after them.
  std::vector<Row> read(const std::string& queries);

  /// Commits; returns the rows of `last_query` (empty: none), which is sent before COMMIT. Unavailable if the
  /// connection was cut off during it: whether the transaction was committed is unknown. After any other error it was
  /// not.
  Result<std::vector<Row>> commit(const std::string& last_query = {});
  /// The same, but `query` is sent after COMMIT; it may ask about the session, not about tables.
  Result<std::vector<Row>> commit_and_tell(const std::string& query);
  void rollback();

  /// A new number, larger than any token, that LAST_INSERT_ID() has only if a statement of the caller sets it.
  std::string new_mark() { return std::to_string(++mark_); }

  bool failed() const { return error_.has_value(); }
  /// Whether the last failure was due to another transaction, and there is time for a repetition.
  bool is_worth_repeating() const { return worth_repeating_; }
  /// The servers and the connection, for statements between two transactions.
  Servers& servers() { return servers_; }
  const Servers& servers() const { return servers_; }
  /// MySQL's number of the last failure, 0 if there was none since begin().
  int failure_code() const { return code_; }

 private:
  Result<std::vector<Row>> finish(const std::string& statements);
  void send(std::vector<Row>& rows);
  void fail(const Failure& failure);

  Servers servers_;
  Clock& clock_;
  CallLimit limit_{};
  std::string pending_;  ///< to be sent
  int generation_ = 0;   ///< of the connection that has its limit for row locks
  std::uint64_t mark_ = 9'000'000'000'000'000'000;
  bool open_ = false;  ///< the server has begun it
  bool worth_repeating_ = false;
  int code_ = 0;
  std::optional<Error> error_;
};

}  // namespace dlock::mysql
