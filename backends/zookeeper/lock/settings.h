// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/zookeeper/lock/rules.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock::zookeeper {

/// Settings of a zk:// URL.
struct Settings {
  std::string store;  ///< redacted URL
  std::string root;   ///< "" or "/app"
  Recipe recipe = Recipe::kBridge;
  std::string user;
  std::string password;       ///< SECRET
  std::string password_file;  ///< read again when a right is missing; empty: none
  std::vector<BackendUrl::Host> hosts;
};

/// Misconfigured for a path that ZooKeeper does not allow, or a user without a password.
Result<Settings> settings_of(const BackendUrl& url);

}  // namespace dlock::zookeeper
