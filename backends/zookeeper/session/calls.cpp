// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/calls.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "backends/zookeeper/session/errors.h"

namespace dlock::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr Duration kServerPatience = 1s;  ///< for a server to answer a connection
constexpr Duration kLookPause = 250ms;    ///< between two looks whether the servers have moved
constexpr Duration kPause = 20ms;         ///< before a request that reached no server is sent again
constexpr std::size_t kOnTheWay = 256;    ///< requests that wait for their answers
constexpr int kMostEvents = 10'000;       ///< events, of a server that does not stop: there are deadlines

/// "DELETE on /a/b": what servers want for a change.
std::string right_to(const Change& change) {
  if (change.kind == Change::Kind::kCheck) return "READ on " + change.path;
  if (change.kind == Change::Kind::kSet) return "WRITE on " + change.path;
  const std::string above = change.path.substr(0, std::max<std::size_t>(1, change.path.rfind('/')));
  return (change.kind == Change::Kind::kCreate ? "CREATE on " : "DELETE on ") + above;
}

}  // namespace

std::uint64_t Calls::send(const Request& request) {
  if (!out_since_ && state_ == SessionState::kConnecting) out_since_ = clock_.now();
  asked_[++last_ticket_] = request;
  if (connections_ == 0 && servers_ > 1) unreached_.emplace(last_ticket_, servers_);
  session_->ask(last_ticket_, request);
  return last_ticket_;
}

void Calls::forget(std::uint64_t ticket) {
  asked_.erase(ticket);
  unreached_.erase(ticket);
  if (answers_.erase(ticket) == 0) forgotten_.insert(ticket);
}

void Calls::receive() {
  if (moved_servers_ && state_ == SessionState::kConnecting) {
    if (const auto moved = moved_servers_(clock_.now())) session_->use_servers(*moved);
  }
  take_all();
}

void Calls::take_all() {
  for (int i = 0; i < kMostEvents; ++i) {
    auto event = session_->next();
    if (!event) return;
    take(std::move(*event));
  }
}

void Calls::take(Event event) {
  if (auto* answered = std::get_if<Answered>(&event)) {
    if (goes_to_next_server(*answered)) return;
    if (forgotten_.erase(answered->ticket) == 0) answers_[answered->ticket] = std::move(answered->answer);
  } else if (const auto* fired = std::get_if<WatchFired>(&event)) {
    fired_.insert(fired->path);
  } else if (auto* changed = std::get_if<StateChanged>(&event)) {
    state_ = changed->state;
    if (state_ == SessionState::kConnected) {
      ++connections_;
      unreached_.clear();
      has_seen_ = true;
      key_ = std::move(changed->key);
      timeout_ = changed->timeout;
      out_since_.reset();
    } else if (!out_since_) {
      out_since_ = clock_.now();
    }
  }
}

/// The library sends nothing before a connection stands, and reports that before the result of a request.
bool Calls::goes_to_next_server(const Answered& answered) {
  const auto found = unreached_.find(answered.ticket);
  if (found == unreached_.end()) return false;
  const bool again = answered.answer.code == Code::kConnectionLoss && found->second > 0;
  if (!again) {
    unreached_.erase(found);
    return false;
  }
  --found->second;
  session_->ask(answered.ticket, asked_[answered.ticket]);
  return true;
}

void Calls::take_up_in(std::unique_ptr<Session> fresh) {
  session_->abandon();
  take_all();  // the end of what was on its way
  session_ = std::move(fresh);
  state_ = SessionState::kConnecting;
  unreached_.clear();
  has_seen_ = false;
  was_taken_up_ = true;
}

void Calls::end() {
  session_->close();
  take_all();
  state_ = SessionState::kExpired;
}

/// A server that drops packets would keep the others from their turn. Then there is another round of all of them.
void Calls::leave_silent_server() {
  const TimePoint now = clock_.now();
  const int refusals = session_->refusals();
  const bool is_next = std::exchange(refusals_, refusals) != refusals;
  if (state_ != SessionState::kConnecting) {
    tried_since_.reset();
  } else if (!tried_since_ || is_next) {
    tried_since_ = now;
  } else if (now >= *tried_since_ + kServerPatience) {
    session_->reconnect();
    tried_since_ = now;
    refused_before_ = refusals;
    for (auto& [ticket, tries] : unreached_) tries = servers_;
  }
}

void Calls::wait(std::optional<TimePoint> until, Control* control) {
  leave_silent_server();
  if (tried_since_) until = earlier(until, *tried_since_ + kServerPatience);
  if (moved_servers_ && state_ == SessionState::kConnecting) until = earlier(until, clock_.now() + kLookPause);
  if (most_refusals_ > 0 && timeout_ == Duration(0))
    until = earlier(until, clock_.now() + kPause);  // nothing announces it
  std::vector<pollfd> fds;
  session_->add_interest(fds);
  if (control) control->add_interest(fds);
  clock_.wait(fds, earlier(until, session_->wake_at()));
}

Error Calls::unreachable() const {
  const std::string trouble = session_->trouble();
  return {ErrorCode::kUnavailable, "cannot reach " + store_ + (trouble.empty() ? ": no answer" : ": " + trouble),
          "check it with: dlock doctor"};
}

Result<Answer> Calls::judged(Answer answer, const Request& request) {
  if (is_disconnected(answer.code)) return unreachable();
  nonsense_ = is_nonsense(answer.code);
  const Code code = state_ == SessionState::kAuthFailed && !nonsense_ ? Code::kAuthFailed : answer.code;
  const auto refused = std::find_if(answer.changed.begin(), answer.changed.end(),
                                    [&](const Answer::Changed& one) { return one.code == answer.code; });
  const auto at = static_cast<std::size_t>(refused - answer.changed.begin());
  std::string right = "READ on " + request.path;
  if (!request.changes.empty()) right = right_to(request.changes[at < request.changes.size() ? at : 0]);
  auto error = error_of(code, store_, right);
  if (error && error->code == ErrorCode::kLost) state_ = SessionState::kExpired;
  if (error) return *error;
  return answer;
}

Result<Answer> Calls::answer(std::uint64_t ticket, TimePoint until, Control* control) {
  for (bool waited = false;; waited = true) {
    receive();
    const auto found = answers_.find(ticket);
    if (found != answers_.end()) {
      Answer answer = std::move(found->second);
      answers_.erase(found);
      const bool is_denied = answer.code == Code::kNoAuth && new_digest_;
      if (const auto digest = is_denied ? new_digest_() : std::nullopt) {
        session_->log_in(*digest);
        session_->ask(ticket, asked_[ticket]);
        continue;
      }
      const auto asked = asked_.extract(ticket);
      return judged(std::move(answer), asked.mapped());
    }
    const bool stopped = waited && control && control->stop_requested();
    if (stopped || clock_.now() >= until || refused_by_all()) {
      forget(ticket);
      if (stopped) return Error{ErrorCode::kCancelled, "given up on request"};
      return unreachable();
    }
    wait(waited ? until : std::min(until, clock_.now() + kSoonAnswered), control);
  }
}

std::vector<Result<Answer>> Calls::call_all(const std::vector<Request>& requests, TimePoint until, Control* control) {
  std::vector<Result<Answer>> answers;
  std::deque<std::uint64_t> tickets;
  for (std::size_t sent = 0; answers.size() < requests.size();) {
    while (sent < requests.size() && tickets.size() < kOnTheWay) tickets.push_back(send(requests[sent++]));
    answers.push_back(answer(tickets.front(), until, control));
    tickets.pop_front();
  }
  return answers;
}

Result<Answer> Calls::call_until(const Request& request, TimePoint until, Control* control) {
  while (true) {
    nonsense_ = false;
    auto answer = call(request, until, control);
    const bool again = clock_.now() + kPause < until;
    if (answer || nonsense_ || answer.error().code != ErrorCode::kUnavailable || !again) return answer;
    rest(until, control);
  }
}

void Calls::rest(TimePoint until, Control* control) {
  const TimePoint next = std::min(until, clock_.now() + kPause);
  while (clock_.now() < next && !(control && control->stop_requested())) {
    receive();
    wait(next, control);
  }
}

}  // namespace dlock::zookeeper
