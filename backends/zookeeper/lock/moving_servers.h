// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/session/server_finder.h"
#include "lib/config/backend_url.h"
#include "lib/net/lookup.h"

namespace dlock::zookeeper {

/// Looks the names of a URL up again, once a second. Single-threaded.
class MovingServers final : public ServerFinder {
 public:
  /// `addresses`: what was found at `now`.
  MovingServers(std::vector<BackendUrl::Host> hosts, std::vector<std::string> addresses, TimePoint now);

  const std::vector<std::string>& addresses() const { return addresses_; }  ///< as they were found last
  std::optional<std::vector<std::string>> look(TimePoint now) override;

 private:
  void start();
  void collect();

  const std::vector<BackendUrl::Host> hosts_;
  std::vector<std::string> addresses_;
  TimePoint asked_at_;
  std::vector<Lookup> asked_;       ///< those that have not been answered yet
  std::vector<std::string> fresh_;  ///< answers of the others
  bool complete_ = true;            ///< each host had an address
};

}  // namespace dlock::zookeeper
