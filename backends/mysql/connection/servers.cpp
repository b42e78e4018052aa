// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/servers.h"

#include <algorithm>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/errors.h"
#include "lib/config/secret.h"

namespace dlock::mysql {
namespace {

constexpr Duration kRowPause = std::chrono::milliseconds(10);  ///< for the end of another client's transaction
constexpr Duration kKillBudget = std::chrono::milliseconds(300);

}  // namespace

bool says_read_only(const Answer& answer) {
  return !answer.rows.empty() && !answer.rows[0].empty() && answer.rows[0][0].value_or("0") != "0";
}

Servers::Servers(std::vector<DatabaseSettings> servers, Dial dial, Clock& clock)
    : servers_(std::move(servers)), dial_(std::move(dial)), clock_(clock), name_(servers_.front().endpoint.text()) {}

void Servers::close() { database_.reset(); }

Error Servers::failed(const Failure& failure) {
  Error error = error_of(failure, name_);
  if (failure.cut_off || is_read_only(failure.code)) close();
  if (is_read_only(failure.code)) at_ = (at_ + 1) % servers_.size();
  return error;
}

/// The password may have been changed since it was read.
bool Servers::has_new_password() {
  auto password = rotated_password(servers_.front().password_file, servers_.front().password);
  if (!password) return false;
  for (DatabaseSettings& server : servers_) server.password = *password;
  return true;
}

Result<std::unique_ptr<Database>> Servers::open(std::size_t index, TimePoint until, Control* control) {
  DatabaseSettings settings = servers_[index];
  settings.connect_timeout = std::clamp<Duration>(until - clock_.now(), std::chrono::seconds(1), std::chrono::hours(1));
  auto database = dial_(settings);
  const AnswerOrFailure outcome = await(*database, clock_, until, control);
  if (control != nullptr && control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
  const auto* failure = std::get_if<Failure>(&outcome);
  has_refused_ = failure && failure->code != 0 && !is_cut_off(failure->code);
  if (failure && failure->code == kAccessDenied && has_new_password()) return open(index, until, control);
  if (failure) return error_of(*failure, settings.endpoint.text());
  return database;
}

/// With one server there is nothing to choose: a server that refuses changes says so when one comes.
Result<void> Servers::try_one(std::size_t index, TimePoint until, Control* control) {
  TRY_ASSIGN(auto database, open(index, until, control));
  if (servers_.size() > 1) {
    const AnswerOrFailure outcome = ask(*database, kAskReadOnly, clock_, until, control);
    const auto* answer = std::get_if<Answer>(&outcome);
    if (!answer) return error_of(std::get<Failure>(outcome), servers_[index].endpoint.text());
    if (says_read_only(*answer)) {
      return Error{ErrorCode::kUnavailable, servers_[index].endpoint.text() + " is read-only"};
    }
  }
  database_ = std::move(database);
  at_ = index;
  name_ = servers_[index].endpoint.text();
  ++generation_;
  return {};
}

Result<Database*> Servers::connect(TimePoint until, Control* control) {
  if (database_ && database_->usable()) return database_.get();
  close();
  std::string reasons;
  std::optional<Error> error;
  const std::size_t count = servers_.size();
  for (std::size_t i = 0; i < count; ++i) {
    // The rest of the time is shared by those that were not asked yet.
    const TimePoint now = clock_.now();
    const Duration share = (until - now) / static_cast<std::int64_t>(count - i);
    const std::size_t index = (at_ + i) % count;
    const auto tried = try_one(index, i + 1 == count ? until : now + share, control);
    if (tried) return database_.get();
    if (tried.error().code == ErrorCode::kCancelled) return tried.error();
    reasons += (reasons.empty() ? "" : "; ") + tried.error().message;
    if (!error || error->code == ErrorCode::kUnavailable) error = tried.error();
  }
  name_ = servers_[at_].endpoint.text();
  error->message = reasons;
  return *error;
}

Result<std::optional<Answer>> Servers::try_run(const std::string& statement, TimePoint until, Control* control) {
  while (true) {
    TRY_ASSIGN(const auto database, connect(until, control));
    AnswerOrFailure outcome = ask(*database, statement, clock_, until, control);
    if (auto* answer = std::get_if<Answer>(&outcome)) return std::optional(std::move(*answer));
    const auto& failure = std::get<Failure>(outcome);
    if (is_locked_row(failure.code)) return std::optional<Answer>();
    if (is_worth_repeating(failure.code) && clock_.now() < until) continue;
    return failed(failure);
  }
}

Result<Answer> Servers::run(const std::string& statement, TimePoint until, Control* control) {
  while (true) {
    TRY_ASSIGN(auto answer, try_run(statement, until, control));
    if (answer) return std::move(*answer);
    if (clock_.now() >= until || !rest(clock_, std::min(until, clock_.now() + kRowPause), control)) {
      return failed({kLockWait, "no end in time", false, false});
    }
  }
}

void Servers::end_session(std::uint64_t id) {
  Servers other = beside();
  if (database_) database_->close();
  close();
  if (id != 0) (void)other.run("KILL " + std::to_string(id), clock_.now() + kKillBudget);
}

bool Servers::is_live_session(std::uint64_t id, TimePoint until) {
  const auto found = run("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID=" + std::to_string(id), until);
  return found && !found->rows.empty();
}

Servers Servers::beside() const { return Servers({servers_[at_]}, dial_, clock_); }

}  // namespace dlock::mysql
