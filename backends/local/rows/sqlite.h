// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/call_limit.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dlock::local {

class Database;

/// One statement being run. Parameters are bound in their order; columns are read in theirs. After a failure of the
/// database nothing happens and there are no rows: commit() returns the error.
class Query {
 public:
  Query(Database& database, const char* sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& operator<<(std::int64_t value);
  Query& operator<<(std::string_view value);  ///< must outlive the query

  /// The next row. False: there is none.
  bool next();
  /// For statements without rows.
  void run() { next(); }

  std::int64_t number(int column) const;
  std::string text(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

/// One SQLite database that several processes share (write-ahead log). Who finds another one writing tries again for a
/// moment, which is what a few of them are fastest with; a crowd does not outlast that, so then they queue in the
/// kernel, by a flock(2) of its directory. The first
/// failure sticks until the transaction ends, so that the statements in between need no looking after. Single-threaded;
/// SIGALRM is its.
class Database {
 public:
  /// REQUIRES: the file exists. `durable`: a commit survives the machine's end, not only the process's.
  static Result<Database> open(const std::string& path, bool durable, Clock& clock);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  /// Waits for other processes until `limit`. Unavailable if they did not let us in; Cancelled.
  Result<void> begin(bool write, const CallLimit& limit);
  /// The failure of anything since begin(); then nothing of it has happened.
  Result<void> commit();
  void rollback();
  bool failed() const { return error_.has_value(); }

 private:
  friend class Query;
  Database(sqlite3* handle, std::string path, Clock& clock);
  sqlite3_stmt* prepare(const char* sql);
  void fail(int code);
  Error error_of(int code) const;
  Error busy_error() const;
  bool is_over() const;
  Result<void> wait_for_turn();
  void begin_writing();
  int busy(int tries);
  static int busy_handler(void* self, int tries) { return static_cast<Database*>(self)->busy(tries); }

  sqlite3* handle_;
  std::string path_;
  Clock* clock_;
  UniqueFd turn_;                                    ///< of the directory: locked while we write
  std::map<const char*, sqlite3_stmt*> statements_;  ///< by the address of their text: literals of ours
  std::optional<Error> error_;
  CallLimit limit_{};
  TimePoint busy_until_{};  ///< it tries again so long
  bool open_ = false;       ///< a transaction
};

}  // namespace dlock::local
