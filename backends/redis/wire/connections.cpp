// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/connections.h"

#include <algorithm>

#include "lib/config/url_schemes.h"

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

std::vector<Endpoint> endpoints(const BackendUrl& url) {
  const UrlScheme* scheme = find_url_scheme(url.scheme);
  const std::uint16_t usual = scheme == nullptr ? 0 : scheme->port;
  std::vector<Endpoint> all;
  for (const BackendUrl::Host& host : url.hosts) all.push_back({host.name, host.port == 0 ? usual : host.port, ""});
  return all;
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
