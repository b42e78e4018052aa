// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/base/time.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/control.h"
#include "lib/lock/holder.h"
#include "lib/net/addresses.h"

namespace dlock::zookeeper {

/// Settings of a zk:// URL.
struct Settings {
  std::string store;  ///< redacted URL
  std::string root;   ///< "" or "/app"
  Recipe recipe = Recipe::kCurator;
  std::string user;
  std::string password;       ///< SECRET
  std::string password_file;  ///< read again when a right is missing; empty: none
  std::vector<Endpoint> hosts;
};

/// Misconfigured for a path that ZooKeeper does not allow, or a user without a password.
Result<Settings> settings_of(const BackendUrl& url);

/// The leader's clock, which stamps the nodes: known by the time of a node that is made for that below `root`, and
/// deleted again, once a minute.
class ServerClock {
 public:
  explicit ServerClock(std::string root) : root_(std::move(root)) {}

  /// Moves the times in `state` to our clock. Leaves them alone where we may not make that node.
  void move_to_ours(LockState& state, Calls& calls, TimePoint until, Control* control);

  /// What it shows now, or a little less; what ours shows where we may not make that node.
  WallTime now(Calls& calls, TimePoint until, Control* control);

  /// A change that was answered just now bears this stamp.
  void seen(WallTime stamp, Clock& ours);

 private:
  void read(Calls& calls, TimePoint until, Control* control);

  const std::string root_;
  TimePoint read_again_at_{};
  std::optional<WallTime> theirs_;
  WallTime asked_{};  ///< our clock, before theirs was read and after that
  WallTime answered_{};
  TimePoint read_at_{};
};

/// The arithmetic between a lease of dlock and a session of ZooKeeper. Pure. A holder believes in its lock for two
/// thirds of the session's timeout, counted from before the last request that the leader has answered: a follower that
/// is cut off goes on answering everything else. The lock-delay is what a session lives longer than that.

/// The session timeout to ask the server for: 3/2 ttl + lock_delay.
Duration timeout_to_ask(Duration ttl, Duration lock_delay);

/// How long a lease really is within a session whose timeout the server has bounded: at most ttl, at most two thirds of
/// what is left of `granted` beside the lock-delay. 0 or less: the session is too short.
Duration lease_within(Duration granted, Duration ttl, Duration lock_delay);

/// The last moment at which the lock is believed. `sent`: before the last request that the leader has answered;
/// `previous`: the one before. The leader hears of a request by the next ping of its follower only, so nothing later
/// than `previous` is sure to have made the session longer.
TimePoint believed_until(TimePoint sent, TimePoint previous, Duration granted, Duration ttl, Duration lock_delay);

class MovingServers;

using OpenSession = std::function<Result<std::unique_ptr<Session>>(const SessionSettings&)>;

/// The servers of a URL: resolves them and opens sessions. Single-threaded.
class Ensemble {
 public:
  /// Misconfigured for a path that ZooKeeper does not allow, or a user without a password. `clock` outlives it.
  static Result<Ensemble> of(const BackendUrl& url, Clock& clock, OpenSession open = open_session);

  const std::string& root() const { return settings_->root; }  ///< "" or "/app"
  const std::string& store() const { return settings_->store; }
  Recipe recipe() const { return settings_->recipe; }
  int server_count() const { return static_cast<int>(addresses_.size()); }  ///< once they are resolved

  /// Resolves the hosts (again only while there is no connection) and starts a session; it is not connected yet.
  /// Unavailable if no host has an address by `until`.
  Result<std::unique_ptr<Calls>> connect(Duration timeout, TimePoint until, Control* control);

  /// For a session that is_shut_out(): asks the servers whether they still know it. Then `calls` goes on with it,
  /// otherwise it reports that it has expired. REQUIRES: the caller holds nothing in it.
  Result<void> ask_anew(Calls& calls, Duration timeout, TimePoint until, Control* control);

  /// "10.0.0.1:2181": numeric, shuffled by the library.
  Result<std::vector<std::string>> addresses(TimePoint until, Control* control);

 private:
  Ensemble(Settings settings, Clock& clock, OpenSession open)
      : settings_(std::make_shared<Settings>(std::move(settings))), clock_(&clock), open_(std::move(open)) {}
  Result<std::unique_ptr<Calls>> open(const SessionSettings& settings);

  std::shared_ptr<Settings> settings_;  ///< also of the sessions, which may find a new password
  Clock* clock_;
  OpenSession open_;
  std::vector<std::string> addresses_;
  std::shared_ptr<MovingServers> moving_;  ///< nullptr: the URL has no names, or more than it would look up again
};

}  // namespace dlock::zookeeper
