// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/moving_servers.h"
#include "backends/zookeeper/lock/settings.h"
#include "backends/zookeeper/session/calls.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/control.h"

namespace dlock::zookeeper {

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
  Result<std::unique_ptr<Calls>> connect(Duration timeout, const SessionKey* attach, TimePoint until, Control* control);

  /// For a session that is_shut_out(): asks the servers whether they still know it. Then `calls` goes on with it,
  /// otherwise it reports that it has expired. REQUIRES: the caller holds nothing in it.
  Result<void> ask_anew(Calls& calls, Duration timeout, TimePoint until, Control* control);

  /// Attaches to a session at the server that it was connected to last. REQUIRES: attach.server is not empty.
  Result<std::unique_ptr<Calls>> connect_again(Duration timeout, const SessionKey& attach);

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
