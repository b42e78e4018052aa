// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/rows/transaction.h"

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

constexpr Duration kRollbackBudget = std::chrono::seconds(1);
constexpr std::size_t kLongestBatch = 512UL * 1024;  ///< a server takes 1 MiB or more (max_allowed_packet)

}  // namespace

std::int64_t number_of(const Row& row, std::size_t column) {
  return leading_number<std::int64_t>(text_of(row, column));
}

Result<void> Transaction::begin(const CallLimit& limit) {
  rollback();
  error_.reset();
  code_ = 0;
  worth_repeating_ = false;
  limit_ = limit;
  const auto database = servers_.connect(limit.until, limit.control);
  if (!database) return database.error();
  pending_ = std::string(kMindReadOnly) + ";START TRANSACTION";
  if (generation_ != servers_.generation()) pending_ = "SET SESSION innodb_lock_wait_timeout=2;" + pending_;
  return {};
}

void Transaction::write(const std::string& statement) {
  std::vector<Row> none;
  if (!pending_.empty() && pending_.size() + statement.size() > kLongestBatch) send(none);
  pending_ += ";" + statement;
}

std::vector<Row> Transaction::read(const std::string& queries) {
  std::vector<Row> rows;
  write(queries);
  send(rows);
  return rows;
}

Result<std::vector<Row>> Transaction::commit(const std::string& last_query) {
  return finish((last_query.empty() ? "" : last_query + ";") + "COMMIT");
}

Result<std::vector<Row>> Transaction::commit_and_tell(const std::string& query) {
  auto done = finish("COMMIT" + (query.empty() ? "" : ";" + query));
  if (done || query.empty()) return done;
  Error error = done.error();
  error.undone = error.undone && is_read_only(code_);  // else it may be the query that has failed
  return error;
}

Result<std::vector<Row>> Transaction::finish(const std::string& statements) {
  std::vector<Row> rows;
  write(statements);
  send(rows);
  if (!failed()) {
    open_ = false;
    return rows;
  }
  Error error = *error_;
  rollback();
  error_ = error;
  return error;
}

/// A server does not wait for a client that is gone; where a rollback cannot be sent, the end of the connection is one.
void Transaction::rollback() {
  pending_.clear();
  error_.reset();
  if (!std::exchange(open_, false)) return;
  Database* database = servers_.current();
  if (!database || !database->usable()) return servers_.close();
  const AnswerOrFailure outcome = ask(*database, "ROLLBACK", clock_, clock_.now() + kRollbackBudget, nullptr);
  if (std::holds_alternative<Failure>(outcome)) servers_.close();
}

void Transaction::send(std::vector<Row>& rows) {
  if (failed()) return;
  std::string batch = std::exchange(pending_, std::string());
  if (batch.starts_with(';')) batch.erase(0, 1);
  open_ = true;
  AnswerOrFailure outcome = ask(*servers_.current(), std::move(batch), clock_, limit_.until, limit_.control);
  if (const auto* failure = std::get_if<Failure>(&outcome)) return fail(*failure);
  generation_ = servers_.generation();
  rows = std::move(std::get<Answer>(outcome).rows);
}

void Transaction::fail(const Failure& failure) {
  error_ = servers_.failed(failure);
  code_ = failure.code;
  const bool stopped = limit_.control && limit_.control->stop_requested();
  const bool others = mysql::is_worth_repeating(code_) || code_ == kDuplicateKey;
  worth_repeating_ = others && !stopped && !failure.cut_off && clock_.now() < limit_.until;
}

}  // namespace dlock::mysql
