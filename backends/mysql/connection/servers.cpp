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
    : servers_(std::move(servers)), dial_(std::move(dial)), clock_(clock), one_(servers_.size(), clock) {}

Error Servers::failed(const Failure& failure) {
  Error error = error_of(failure, server());
  error.undone = error.code == ErrorCode::kUnavailable && !failure.cut_off;
  if (is_read_only(failure.code)) one_.pass_over();
  else if (failure.cut_off) close();
  return error;
}

/// The password may have been changed since it was read.
bool Servers::has_new_password() {
  auto password = rotated_password(servers_.front().password_file, servers_.front().password);
  if (!password) return false;
  for (DatabaseSettings& server : servers_) server.password = *password;
  return true;
}

Servers::Opened Servers::open(std::size_t index, const CallLimit& limit) {
  DatabaseSettings settings = servers_[index];
  settings.connect_timeout =
      std::clamp<Duration>(limit.until - clock_.now(), std::chrono::seconds(1), std::chrono::hours(1));
  auto database = dial_(settings);
  const AnswerOrFailure outcome = await(*database, clock_, limit.until, limit.control);
  if (limit.control && limit.control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
  const auto* failure = std::get_if<Failure>(&outcome);
  if (failure && failure->code == kAccessDenied && has_new_password()) return open(index, limit);
  if (failure) return error_of_login(*failure, settings.endpoint.text());
  return database;
}

/// With one server there is nothing to choose: a server that refuses changes says so when one comes.
Servers::Opened Servers::open_writable(std::size_t index, const CallLimit& limit) {
  TRY_ASSIGN(auto database, open(index, limit));
  if (servers_.size() == 1) return database;
  const AnswerOrFailure outcome = ask(*database, kAskReadOnly, clock_, limit.until, limit.control);
  const std::string name = servers_[index].endpoint.text();
  const auto* answer = std::get_if<Answer>(&outcome);
  if (!answer) return error_of(std::get<Failure>(outcome), name);
  if (says_read_only(*answer)) return Error{ErrorCode::kUnavailable, name + " is read-only"};
  return database;
}

Result<Database*> Servers::connect(TimePoint until, Control* control) {
  return one_.connect({until, control},
                      [this](std::size_t index, const CallLimit& limit) { return open_writable(index, limit); });
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
  if (current()) current()->close();
  close();
  if (id != 0) (void)other.run("KILL " + std::to_string(id), clock_.now() + kKillBudget);
}

Result<bool> Servers::is_live_session(std::uint64_t id, TimePoint until) {
  TRY_ASSIGN(const auto found,
             run("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID=" + std::to_string(id), until));
  return !found.rows.empty();
}

Servers Servers::beside() const { return Servers({servers_[one_.at()]}, dial_, clock_); }

}  // namespace dlock::mysql
