// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/connections.h"

#include <algorithm>

namespace dlock::redis {
Result<Connection*> Connections::to(const Endpoint& endpoint) {
  if (Connection* known = find(endpoint)) return known;
  TRY_ASSIGN(auto settings, settings_(endpoint));
  auto made = all_.emplace(endpoint, std::make_unique<Connection>(std::move(settings))).first;
  return made->second.get();
}

Result<std::vector<Connection*>> Connections::to_all(const std::vector<Endpoint>& endpoints) {
  std::vector<Connection*> all;
  for (const Endpoint& endpoint : endpoints) {
    TRY_ASSIGN(auto connection, to(endpoint));
    all.push_back(connection);
  }
  return all;
}

Connection* Connections::find(const Endpoint& endpoint) const {
  const auto found = all_.find(endpoint);
  return found == all_.end() ? nullptr : found->second.get();
}

void Connections::close_all() {
  for (const auto& [endpoint, connection] : all_) {
    if (!connection->is_closed()) connection->close();
  }
}

Result<void> pause(Clock& clock, TimePoint until, Control* control) {
  if (rest(clock, until, control)) return {};
  return Error{ErrorCode::kCancelled, "given up before the server was asked", ""};
}

Error outcome_unknown(Error error) {
  error.message += "; whether it has done what was asked is not known";
  return error;
}

bool is_passing(const Error& error) { return error.code == ErrorCode::kUnavailable; }

}  // namespace dlock::redis
