// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/zookeeper/session/session.h"
#include "lib/base/clock.h"
#include "lib/keeper/control.h"

namespace dlock::zookeeper {

/// One session, asked by somebody who wants answers by a deadline. Single-threaded.
class Calls {
 public:
  /// `store` names it in messages. `servers`: how many the session tries one after the other.
  Calls(std::unique_ptr<Session> session, std::string store, Clock& clock, int servers)
      : session_(std::move(session)), store_(std::move(store)), clock_(clock), servers_(servers) {}

  /// Asks without waiting; several may be on their way. answer() or forget() each. What waits for the first connection
  /// when one is refused has reached nobody: it goes to the next server, until each has been tried.
  std::uint64_t send(const Request& request);

  /// Waits for the answer. What the server said of the request itself (NoNode, NodeExists, ...) is an Answer; an Error
  /// is Unavailable (the outcome is unknown), Lost (the session is over), Denied, or Cancelled (control; may be
  /// nullptr).
  Result<Answer> answer(std::uint64_t ticket, TimePoint until, Control* control);

  Result<Answer> call(const Request& request, TimePoint until, Control* control) {
    return answer(send(request), until, control);
  }

  /// For requests that may be asked twice: again, until there is an answer or `until` has come.
  Result<Answer> call_until(const Request& request, TimePoint until, Control* control);

  /// Between a request that reached nobody and the next one: the library, which would rest by itself, tries another
  /// connection for each. Not beyond `until`.
  void rest(TimePoint until, Control* control);

  /// answer() of it will not wait.
  bool has_answer(std::uint64_t ticket) const { return answers_.contains(ticket); }

  void forget(std::uint64_t ticket);

  /// Takes in what has come, without waiting.
  void receive();

  /// Waits until something has come, from the session or to control (may be nullptr), or `until`.
  void wait(std::optional<TimePoint> until, Control* control);

  /// True once for each time that a watch on this path has fired.
  bool take_fired(const std::string& path) { return fired_.erase(path) > 0; }
  bool has_fired(const std::string& path) const { return fired_.contains(path); }
  void forget_fired() { fired_.clear(); }

  /// As long as nobody was reached, answer() gives up when that many connections were refused: each server has been
  /// asked. 0: it goes on until its time is over.
  void give_up_after(int refusals) { most_refusals_ = refusals; }
  bool refused_by_all() const {
    return most_refusals_ > 0 && timeout_ == Duration(0) && session_->refusals() >= most_refusals_;
  }

  /// It was connected, and no server has taken it back for as long as it lasts. Servers that have lost data close each
  /// connection of a client that has seen more than they know, without a word: that looks like an outage.
  bool is_shut_out() const { return has_seen_ && out_since_ && clock_.now() >= *out_since_ + timeout_; }

  /// Goes on with the session in `fresh`, which was opened with key() and has seen nothing: any server will say whether
  /// it knows it. What is on its way is answered as lost. REQUIRES: nothing that is believed rests on the connection.
  void take_up_in(std::unique_ptr<Session> fresh);
  bool was_taken_up() const { return was_taken_up_; }

  /// Ends the session, as if it had expired.
  void end();

  SessionState state() const { return state_; }
  /// Since when it is not connected; nullopt while it is.
  std::optional<TimePoint> out_since() const { return out_since_; }
  /// How many connections it has had so far.
  int connections() const { return connections_; }
  const SessionKey& key() const { return key_; }
  Duration timeout() const { return timeout_; }  ///< granted; 0 before it was connected once
  const std::string& store() const { return store_; }
  Clock& clock() { return clock_; }
  void add_interest(std::vector<pollfd>& fds) const { session_->add_interest(fds); }
  /// When receive() is to be called though nothing is ready.
  std::optional<TimePoint> wake_at() const { return session_->wake_at(); }
  Session& session() { return *session_; }
  Error unreachable() const;

 private:
  void take(Event event);
  void leave_silent_server();
  bool goes_to_next_server(const Answered& answered);
  Result<Answer> judged(Answer answer, const std::vector<std::string>& asked);

  std::unique_ptr<Session> session_;
  const std::string store_;
  Clock& clock_;
  const int servers_;
  SessionState state_ = SessionState::kConnecting;
  std::optional<TimePoint> out_since_;
  std::optional<TimePoint> tried_since_;  ///< the server that is being connected to
  int connections_ = 0;
  bool has_seen_ = false;  ///< session_ was connected
  bool was_taken_up_ = false;
  SessionKey key_;
  Duration timeout_{0};
  int most_refusals_ = 0;
  bool nonsense_ = false;  ///< the last answer made no sense, and the next one would not either
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, std::vector<std::string>> asked_;  ///< the paths
  struct Unreached {
    Request request;
    int tries_left;
  };
  std::map<std::uint64_t, Unreached> unreached_;  ///< what no server can have heard of
  std::map<std::uint64_t, Answer> answers_;
  std::set<std::uint64_t> forgotten_;
  std::set<std::string> fired_;
};

}  // namespace dlock::zookeeper
