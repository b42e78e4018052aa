// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "backends/zookeeper/session/calls.h"
#include "backends/zookeeper/session/session.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/control.h"

namespace dlock::zookeeper {

using OpenSession = std::function<Result<std::unique_ptr<Session>>(const SessionSettings&)>;

/// What a URL says.
class Ensemble {
 public:
  /// Misconfigured for a path that is none, or a user without a password.
  static Result<Ensemble> of(const BackendUrl& url, Clock& clock, OpenSession open = open_session);

  const std::string& root() const { return root_; }  ///< "" or "/app"
  const std::string& store() const { return store_; }
  Recipe recipe() const { return recipe_; }
  int server_count() const { return static_cast<int>(addresses_.size()); }  ///< once they are resolved

  /// Resolves the hosts (once) and starts a session; it is not connected yet. Unavailable if no host has an address
  /// by `until`.
  Result<std::unique_ptr<Calls>> connect(Duration timeout, const SessionKey* attach, TimePoint until, Control* control);

  /// Goes on with a session at the server that it was connected to. REQUIRES: that is known.
  Result<std::unique_ptr<Calls>> connect_again(Duration timeout, const SessionKey& attach);

  /// "10.0.0.1:2181": numeric, shuffled by the library.
  Result<std::vector<std::string>> addresses(TimePoint until, Control* control);

 private:
  explicit Ensemble(Clock& clock) : clock_(&clock) {}
  Result<std::unique_ptr<Calls>> open(const SessionSettings& settings);

  Clock* clock_;
  OpenSession open_;
  Recipe recipe_ = Recipe::kBridge;
  std::string root_;
  std::string store_;
  std::string digest_;  ///< SECRET
  std::vector<BackendUrl::Host> hosts_;
  std::vector<std::string> addresses_;
};

}  // namespace dlock::zookeeper
