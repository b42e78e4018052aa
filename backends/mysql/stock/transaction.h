// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/mysql/connection/servers.h"
#include "lib/base/result.h"
#include "lib/stock/stock.h"

namespace dlock::mysql {

/// A field of an answer; 0 where there is none.
std::int64_t number_of(const Row& row, std::size_t column);

/// One transaction at a time on the writable server, in few round trips: changes are kept until something is read,
/// the transaction ends or they are many, and then go out together. The first failure sticks until the end: nothing
/// more is sent, what is read is empty. Nothing waits longer than two seconds for somebody else's row. Single-threaded.
class Transaction {
 public:
  /// REQUIRES: the connections of `servers` take batches.
  Transaction(Servers servers, Clock& clock) : servers_(std::move(servers)), clock_(clock) {}

  /// Errors as of Servers::connect().
  Result<void> begin(const CallLimit& limit);

  /// A change, some time before the end.
  void write(const std::string& statement);

  /// The rows of `queries` (several with ';' between them), after everything that was written before.
  std::vector<Row> read(const std::string& queries);

  /// The rows of `last_query` (empty: none). Unavailable if the connection was cut off meanwhile: whether it happened
  /// is not known; after any other error nothing has happened.
  Result<std::vector<Row>> commit(const std::string& last_query = {});
  /// The same with the rows of a query that comes behind COMMIT: about the session, no table.
  Result<std::vector<Row>> commit_and_tell(const std::string& query);
  void rollback();

  /// A number that LAST_INSERT_ID() is not, until a statement of the caller's makes it so. Larger than any token.
  std::string new_mark() { return std::to_string(++mark_); }

  bool failed() const { return error_.has_value(); }
  /// The last failure was somebody else's transaction, and there is time to do it again.
  bool is_worth_repeating() const { return worth_repeating_; }
  /// Its connection, for what is asked between two transactions.
  Servers& servers() { return servers_; }
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
  int generation_ = 0;   ///< of the connection that was told how long to wait for rows
  std::uint64_t mark_ = 9'000'000'000'000'000'000;
  bool open_ = false;  ///< the server knows of it
  bool worth_repeating_ = false;
  int code_ = 0;
  std::optional<Error> error_;
};

}  // namespace dlock::mysql
