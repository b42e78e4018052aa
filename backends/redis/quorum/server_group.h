// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "backends/redis/wire/reply.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/control.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// N independent servers, asked at the same time in one poll loop. A question that was not answered in time stays on
/// its connection, and later ones queue after it, so that a release never overtakes its acquire. Late answers are
/// dropped. Single-threaded.
class ServerGroup {
 public:
  /// Answer of one server to one question.
  struct Answer {
    bool asked = false;
    std::vector<Reply> replies;  ///< one for each command; complete if `done` and no `error`
    bool done = false;
    std::optional<Error> error;  ///< why no (further) reply will come
    TimePoint sent{};
    TimePoint received{};

    bool is_open() const { return asked && !done; }
    bool has_replies() const { return done && !error; }
  };
  using Answers = std::vector<Answer>;

  /// REQUIRES: at least one server.
  ServerGroup(std::vector<ConnectionSettings> settings, Clock& clock, Duration connect_timeout);

  std::size_t size() const { return servers_.size(); }
  std::string name(std::size_t server) const { return servers_[server].connection->settings().endpoint.text(); }

  /// Its connection is as refresh() has left it.
  const Connection& at(std::size_t server) const { return *servers_[server].connection; }

  /// Notices which connections have ended and opens those that are closed. Called before ask() where connection()
  /// matters.
  void refresh();
  /// How often the connection to `server` has been opened. A new number means that it may be another server process.
  int connection(std::size_t server) const { return servers_[server].connection->opened(); }

  /// Sends `commands[i]` to server i in one write; a server without commands is not asked. Waits until all have
  /// answered, `until` has come or `control` (may be nullptr) wants an end. `enough` is called with the answers so far:
  /// nullopt means go on, otherwise it says how much longer to wait for the others.
  using Enough = std::function<std::optional<Duration>(const Answers&)>;
  Answers ask(const std::vector<std::vector<Command>>& commands, TimePoint until, Control* control,
              const Enough& enough);

  /// From now on a majority waits no longer for a server that has not answered an earlier question in its time.
  void wait_once_for_the_silent() { waits_once_ = true; }

  /// Sends without waiting for answers.
  void tell(const std::vector<std::vector<Command>>& commands);

  /// Between two questions: the end of a connection that was in use, once, with its reason; and the descriptors that
  /// announce it.
  std::optional<std::string> ended();
  void add_interest(std::vector<pollfd>& fds) const;

  /// "10.0.0.1:6379: connection refused; 10.0.0.2:6379: no answer": why each that did not answer did not.
  std::string reasons(const Answers& answers) const;

 private:
  struct Server {
    std::unique_ptr<Connection> connection;
    std::deque<std::pair<int, TimePoint>> on_the_way;  ///< the round of each outstanding command, and when it was sent
    std::optional<Error> failed;                       ///< why its last connection has ended
    bool answered = false;                             ///< on this connection
  };

  Answers send(const std::vector<std::vector<Command>>& commands);
  bool only_silent_ones_are_open(const Answers& answers) const;
  void advance(Server& server, Answer* answer);
  void explain(Answers& answers) const;
  void collect(Server& server, Answer* answer, std::size_t expected);

  std::vector<Server> servers_;
  Clock& clock_;
  const Duration connect_timeout_;
  int round_ = 0;
  bool waits_once_ = false;
};

/// One connection for each host of `url`, which names each once.
Result<std::vector<ConnectionSettings>> group_settings(const BackendUrl& url, Greet greet = Greet::kFirst);

/// Judges the servers of a RedLock by their answers to INFO: how many answer, and which data each may lose.
std::vector<Finding> diagnose_redlock(const ServerGroup& group, const ServerGroup::Answers& info);

/// Judges a Tair by its answer to INFO.
std::vector<Finding> diagnose_tair(const ServerGroup& group, const std::string& store, const ServerGroup::Answer& info);

/// Judges whether the server is a Tair, by its answer to EXCAS without arguments, which Redis does not have.
Finding tair_commands(const ServerGroup& group, const ServerGroup::Answer& answer);

}  // namespace dlock::redis
