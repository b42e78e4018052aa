// SPDX-License-Identifier: Apache-2.0
#include "backends/local/rows/sqlite.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/base/human_text.h"
#include "lib/base/system_error.h"

namespace dlock::local {
namespace {

using namespace std::chrono_literals;

/// Between two looks at a database that another process writes to; a transaction takes less than that.
constexpr Duration kShortestPause = 100us;
constexpr Duration kLongestPause = 2ms;
/// Who was not let in for so long is one of a crowd.
constexpr Duration kAlone = 30ms;

/// While it lives, a call that blocks in the kernel is interrupted (EINTR) every 50 ms, to look at its limit.
class Ticks {
 public:
  Ticks() {
    struct sigaction tick = {};
    tick.sa_handler = [](int) {};  // without SA_RESTART
    sigaction(SIGALRM, &tick, &handler_before_);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, &mask_before_);
    const itimerval often{{0, 50'000}, {0, 50'000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;
  ~Ticks() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    sigaction(SIGALRM, &handler_before_, nullptr);
  }

 private:
  struct sigaction handler_before_ = {};
  sigset_t mask_before_ = {};
};

}  // namespace

Query::Query(Database& database, const char* sql) : database_(database) {
  if (!database.failed()) statement_ = database.prepare(sql);
}

Query::~Query() {
  if (!statement_) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::operator<<(std::int64_t value) {
  if (statement_) sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Query& Query::operator<<(std::string_view value) {
  if (statement_) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  return *this;
}

bool Query::next() {
  if (!statement_ || database_.failed()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail(code);
  return false;
}

std::int64_t Query::number(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Query::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}

Database::Database(sqlite3* handle, std::string path, Clock& clock)
    : handle_(handle), path_(std::move(path)), clock_(&clock) {}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)),
      clock_(other.clock_),
      turn_(std::move(other.turn_)),
      statements_(std::move(other.statements_)),
      error_(std::move(other.error_)) {
  if (handle_) sqlite3_busy_handler(handle_, busy_handler, this);
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Result<Database> Database::open(const std::string& path, bool durable, Clock& clock) {
  sqlite3* handle = nullptr;
  // Without its own mutexes: one thread has it.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle, path, clock);
  if (code != SQLITE_OK) return database.error_of(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_handler(handle, busy_handler, &database);
  database.turn_ = UniqueFd(::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  database.limit_ = {clock.now() + 5s, nullptr};
  database.busy_until_ = database.limit_.until;
  for (const char* pragma :
       {"PRAGMA journal_mode=WAL", durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
        "PRAGMA trusted_schema=OFF"}) {
    if (const int failed = sqlite3_exec(handle, pragma, nullptr, nullptr, nullptr); failed != SQLITE_OK) {
      return database.error_of(failed);
    }
  }
  return database;
}

sqlite3_stmt* Database::prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (!statement) {
    const int code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) fail(code);
  }
  return statement;
}

void Database::fail(int code) {
  if (!error_) error_ = error_of(code);
}

Error Database::error_of(int code) const {
  const std::string why = handle_ ? sqlite3_errmsg(handle_) : "no memory";
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return busy_error();
    case SQLITE_CANTOPEN:
      if (const int errnum = sqlite3_system_errno(handle_); errnum == EMFILE || errnum == ENFILE) {
        return system_error("cannot open " + path_, errnum);
      }
      [[fallthrough]];
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return {ErrorCode::kDenied, "cannot write to " + path_ + ": " + why, "who owns it? ls -l " + shell_word(path_)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
      return {ErrorCode::kMisconfigured, path_ + " is not an intact stock database: " + why,
              "look into it with: sqlite3 " + shell_word(path_) + " 'PRAGMA integrity_check'"};
    case SQLITE_FULL:
      return system_error("cannot write to " + path_, ENOSPC);
    case SQLITE_IOERR:
      if (const int errnum = sqlite3_system_errno(handle_); errnum != 0) {
        return system_error("cannot use " + path_, errnum);
      }
      [[fallthrough]];
    default:
      return {ErrorCode::kSystem, "cannot use " + path_ + ": " + why, "is the disk full or broken?"};
  }
}

Error Database::busy_error() const {
  if (limit_.control && limit_.control->stop_requested()) {
    return {ErrorCode::kCancelled, "the wait for " + path_ + " was given up"};
  }
  return {.code = ErrorCode::kUnavailable,
          .message = path_ + " is busy: other processes write to it all the time",
          .next = "try again",
          .undone = true,
          .outage = Outage::kCrowded};
}

int Database::busy(int tries) {
  const TimePoint now = clock_->now();
  if (is_over() || now >= busy_until_) return 0;
  rest(*clock_, std::min(busy_until_, now + std::min(kLongestPause, kShortestPause * (tries + 1))), limit_.control);
  return 1;
}

bool Database::is_over() const {
  return clock_->now() >= limit_.until || (limit_.control && limit_.control->stop_requested());
}

/// Where flock(2) of the directory does not work, SQLite's own waits do.
Result<void> Database::wait_for_turn() {
  if (flock(turn_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  const Ticks ticks;
  while (flock(turn_.get(), LOCK_EX) != 0 && errno == EINTR) {
    if (is_over()) return busy_error();
  }
  return {};
}

Result<void> Database::begin(bool write, const CallLimit& limit) {
  rollback();
  limit_ = limit;
  busy_until_ = limit.until;
  if (write) begin_writing();
  else Query(*this, "BEGIN").run();
  open_ = !failed();
  if (open_) return {};
  flock(turn_.get(), LOCK_UN);
  return *error_;
}

void Database::begin_writing() {
  constexpr char kBegin[] = "BEGIN IMMEDIATE";
  busy_until_ = std::min(limit_.until, clock_->now() + kAlone);
  Query(*this, kBegin).run();
  busy_until_ = limit_.until;
  if (!failed() || error_->code != ErrorCode::kUnavailable || is_over()) return;
  error_.reset();
  if (const auto turn = wait_for_turn(); !turn) error_ = turn.error();
  Query(*this, kBegin).run();
}

Result<void> Database::commit() {
  if (!failed()) Query(*this, "COMMIT").run();
  open_ = failed();
  if (!failed()) {
    flock(turn_.get(), LOCK_UN);
    return {};
  }
  Error error = *error_;
  rollback();
  return error;
}

void Database::rollback() {
  error_.reset();
  if (!std::exchange(open_, false)) return;
  Query(*this, "ROLLBACK").run();
  flock(turn_.get(), LOCK_UN);
  error_.reset();
}

}  // namespace dlock::local
