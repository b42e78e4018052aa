// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
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

/// Requests with deadlines over one session, which it owns. Single-threaded.
class Calls {
 public:
  /// `store` names the ensemble in messages. `servers`: how many the session tries one after the other. `clock`
  /// outlives it.
  Calls(std::unique_ptr<Session> session, std::string store, Clock& clock, int servers)
      : session_(std::move(session)), store_(std::move(store)), clock_(clock), servers_(servers) {}

  /// Sends without waiting; returns the ticket of the answer. Several may be on their way; call answer() or forget()
  /// for each. A request that still waits for the first connection when that is refused has reached no server: it is
  /// sent to the next one, until each has been tried.
  std::uint64_t send(const Request& request);

  /// Waits for the answer. What the server said of the request itself (NoNode, NodeExists, ...) is an Answer; an Error
  /// is Unavailable (the outcome is unknown), Lost (the session is over), Denied, or Cancelled (control; may be
  /// nullptr).
  Result<Answer> answer(std::uint64_t ticket, TimePoint until, Control* control);

  Result<Answer> call(const Request& request, TimePoint until, Control* control) {
    return answer(send(request), until, control);
  }

  /// Sends all of them, some hundred at a time, and waits for their answers, which come in the same order.
  std::vector<Result<Answer>> call_all(const std::vector<Request>& requests, TimePoint until, Control* control);

  /// For requests that may be carried out twice: repeats while the outcome is unknown, until `until`.
  Result<Answer> call_until(const Request& request, TimePoint until, Control* control);

  /// Pauses before a request that reached no server is repeated, but not beyond `until`: the library, which paces its
  /// own attempts to connect, makes an extra one for each request.
  void rest(TimePoint until, Control* control);

  /// Whether answer() would return at once.
  bool has_answer(std::uint64_t ticket) const { return answers_.contains(ticket); }

  void forget(std::uint64_t ticket);

  /// Reads the events that have come (answers, watches, states), without waiting. Without a connection it asks the
  /// finder.
  void receive();

  /// Waits until the session has an event, control (may be nullptr) has a message, or `until` (nullopt: for ever).
  void wait(std::optional<TimePoint> until, Control* control);

  /// True once for each time that a watch on this path has fired.
  bool take_fired(const std::string& path) { return fired_.erase(path) > 0; }
  bool has_fired(const std::string& path) const { return fired_.contains(path); }
  void forget_fired() { fired_.clear(); }

  /// While no server was reached yet, answer() gives up after so many refused connections, when each server has been
  /// tried. 0: it goes on until its deadline.
  void give_up_after(int refusals) { most_refusals_ = refusals; }
  bool refused_by_all() const {
    return most_refusals_ > 0 && timeout_ == Duration(0) && session_->refusals() - refused_before_ >= most_refusals_;
  }

  /// Asks `digest` when a right is missing: with a new one it logs in, and sends the request again.
  void log_in_by(std::function<std::optional<std::string>()> digest) { new_digest_ = std::move(digest); }

  /// Asks `moved` again and again while there is no connection, for the numeric addresses of the servers if they are
  /// others than before: those of an ensemble in containers come back with other ones. It does not block.
  using FindServers = std::function<std::optional<std::vector<std::string>>(TimePoint now)>;
  void find_servers_by(FindServers moved) { moved_servers_ = std::move(moved); }

  /// The session was connected, and no server has accepted it again for its whole timeout. Besides an outage, that is
  /// how servers look that have lost data: they close each connection of a client that has seen newer data.
  bool is_shut_out() const { return has_seen_ && out_since_ && clock_.now() >= *out_since_ + timeout_; }

  /// Replaces the session object by `fresh`, which was opened with key() and has seen no data, so that any server says
  /// whether it knows the session. Requests on their way are answered as lost. REQUIRES: the caller holds nothing in
  /// the session.
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
  /// When receive() has to be called even if no descriptor is ready.
  std::optional<TimePoint> wake_at() const { return session_->wake_at(); }
  Session& session() { return *session_; }
  Error unreachable() const;

 private:
  void take_all();
  void take(Event event);
  void leave_silent_server();
  bool goes_to_next_server(const Answered& answered);
  Result<Answer> judged(Answer answer, const Request& request);

  std::unique_ptr<Session> session_;
  const std::string store_;
  Clock& clock_;
  const int servers_;
  SessionState state_ = SessionState::kConnecting;
  std::optional<TimePoint> out_since_;
  std::optional<TimePoint> tried_since_;  ///< since when the present server is being connected to
  int connections_ = 0;
  bool has_seen_ = false;  ///< session_ was connected
  bool was_taken_up_ = false;
  SessionKey key_;
  Duration timeout_{0};
  int most_refusals_ = 0;
  int refusals_ = 0;        ///< at the last look
  int refused_before_ = 0;  ///< this round of the servers
  FindServers moved_servers_;
  std::function<std::optional<std::string>()> new_digest_;
  bool nonsense_ = false;  ///< the last answer could not be decoded, nor can later ones
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Request> asked_;
  std::map<std::uint64_t, int> unreached_;  ///< requests that no server can have received, and how often each is tried
  std::map<std::uint64_t, Answer> answers_;
  std::set<std::uint64_t> forgotten_;
  std::set<std::string> fired_;
};

}  // namespace dlock::zookeeper
