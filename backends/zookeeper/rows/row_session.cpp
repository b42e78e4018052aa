// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_session.h"

#include <algorithm>

#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/session/errors.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSessionPause = 20ms;
constexpr Duration kLength = 30s;         ///< nothing of ours depends on it; a renewal every 10 s finds it alive
constexpr Duration kAnswerPatience = 3s;  ///< for one answer; the library itself would wait for most of the session

}  // namespace

std::optional<std::int64_t> LeaderClock::time(TimePoint now, Duration most) const {
  if (!seen_ || now - *seen_ > most) return std::nullopt;
  return stamp_ + std::chrono::floor<std::chrono::milliseconds>(now - *seen_).count();
}

Result<Calls*> RowSession::connected(const CallLimit& limit) {
  if (calls_) calls_->receive();
  if (!calls_ || calls_->state() == SessionState::kExpired || calls_->is_shut_out() || is_neglected()) {
    calls_.reset();
    auto calls = ensemble_.connect(kLength, limit.until, limit.control);
    if (!calls) return unreached(calls.error());
    calls_ = std::move(*calls);
    used_ = now();
  }
  while (calls_->timeout() == Duration(0) && calls_->state() == SessionState::kConnecting) {
    if (limit.control && limit.control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
    if (now() >= limit.until) return unreached(calls_->unreachable());
    calls_->wait(limit.until, limit.control);
    calls_->receive();
  }
  return calls_.get();
}

/// Nothing is sent before there is a connection.
Error RowSession::unreached(Error error) const {
  error.undone = !asked_;
  return error;
}

/// It may have ended, which who asks in it would hear as an outage.
bool RowSession::is_neglected() const {
  return calls_->timeout() > Duration(0) && now() - used_ >= calls_->timeout() / 2;
}

Result<Answer> RowSession::ask(const Request& request, const CallLimit& limit) {
  auto answers = ask(std::vector<Request>{request}, limit);
  if (!answers) return answers.error();
  return std::move(answers->front());
}

/// Nothing is sent with no time left: it would have no answer, and who was stopped for long may have been passed over.
Result<std::vector<Answer>> RowSession::ask(const std::vector<Request>& requests, const CallLimit& limit) {
  const auto calls = connected(limit);
  if (!calls) return calls.error();
  if (now() >= limit.until) return unreached((*calls)->unreachable());
  asked_ = true;
  std::vector<std::uint64_t> tickets;
  for (const Request& request : requests) tickets.push_back((*calls)->send(request));
  std::vector<Answer> answers;
  std::optional<Error> error;
  for (const std::uint64_t ticket : tickets) {
    if (error) {
      (*calls)->forget(ticket);
      continue;
    }
    const TimePoint until = std::min(limit.until, now() + kAnswerPatience);
    auto answer = (*calls)->answer(ticket, until, limit.control);
    if (answer) {
      answers.push_back(std::move(*answer));
      continue;
    }
    error = std::move(answer.error());
    const bool silent = error->code == ErrorCode::kUnavailable && now() >= until;
    if (silent && (*calls)->state() == SessionState::kConnected) (*calls)->session().reconnect();
  }
  used_ = now();
  if (!error) return answers;
  if (error->code == ErrorCode::kLost) {  // the next one is a new session; what was asked may have been done
    calls_.reset();
    return Error{ErrorCode::kUnavailable, "the session on " + store() + " has ended", "check it with: dlock doctor"};
  }
  return std::move(*error);
}

Result<std::vector<Answer>> RowSession::ask_until(const std::vector<Request>& requests, const CallLimit& limit) {
  while (true) {
    auto answers = ask(requests, limit);
    const TimePoint next = now() + kSessionPause;
    if (answers || answers.error().code != ErrorCode::kUnavailable || next >= limit.until) return answers;
    if (auto paused = pause(next, "", limit); !paused) return paused.error();
  }
}

Result<void> RowSession::pause(TimePoint until, const std::string& path, const CallLimit& limit) {
  const auto calls = connected(limit);
  if (!calls) return calls.error();
  while (now() < until) {
    if (limit.control && limit.control->stop_requested()) return Error{ErrorCode::kCancelled, "given up on request"};
    (*calls)->receive();
    if (!path.empty() && (*calls)->take_fired(path)) return {};
    (*calls)->wait(until, limit.control);
    used_ = now();
  }
  return {};
}

Result<bool> RowSession::listen(const std::string& path, const CallLimit& limit) {
  listens_to_.clear();
  if (calls_) calls_->take_fired(path);
  TRY_ASSIGN(const auto seen, ask(ask_stat(path, true), limit));
  listens_to_ = path;
  listens_in_ = calls_.get();
  listens_since_ = calls_->connections();
  return seen.code == Code::kNoNode;
}

void RowSession::add_interest(std::vector<pollfd>& fds) const {
  if (!listens_to_.empty() && calls_) calls_->add_interest(fds);
}

/// A watch fires once: the next one is on its way before whoever has heard looks. Of what was there for a moment nobody
/// hears in another connection.
bool RowSession::heard() {
  if (listens_to_.empty()) return false;
  if (calls_) calls_->receive();
  const bool ended = !calls_ || calls_.get() != listens_in_ || calls_->state() != SessionState::kConnected ||
                     calls_->connections() != listens_since_;
  const bool told = !ended && calls_->take_fired(listens_to_);
  if (told) calls_->forget(calls_->send(ask_stat(listens_to_, true)));
  if (ended) listens_to_.clear();
  return ended || told;
}

Result<void> RowSession::make_directory(const std::string& path, const CallLimit& limit) {
  const auto calls = connected(limit);
  if (!calls) return calls.error();
  return zookeeper::make_directory(**calls, path, true, kDirectoryData, limit.until, limit.control);
}

Result<void> RowSession::make_room(const std::vector<Change>& all, const CallLimit& limit) {
  std::set<std::string> rooms;
  for (const Change& one : all) {
    if (one.kind == Change::Kind::kCreate) rooms.insert(parent_of(one.path));
  }
  std::vector<Request> requests;
  for (const std::string& room : rooms) requests.push_back(ask_creation(create_node(room, "")));
  TRY_ASSIGN(const auto made, ask(requests, limit));
  for (const Answer& one : made) {
    if (one.code != Code::kOk && one.code != Code::kNodeExists && one.code != Code::kNoNode) {
      return unexpected(ErrorCode::kUnsupported, one.code, store(), "makes no room for rows");
    }
  }
  return {};
}

}  // namespace dlock::zookeeper
