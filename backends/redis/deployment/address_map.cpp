// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/address_map.h"

#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock::redis {
namespace {

/// "host:port", "[::1]:port", or either without a port, which is 0 then.
std::optional<Endpoint> parse_place(std::string_view text) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    host = text.substr(0, text.find(':'));
    port = text.substr(host.size());
  }
  if (host.empty() || host.find('=') != std::string_view::npos) return std::nullopt;
  if (port.empty()) return Endpoint{std::string(host), 0, ""};
  const auto number = whole_number<std::uint16_t>(port.substr(1));
  if (port.front() != ':' || !number || *number == 0) return std::nullopt;
  return Endpoint{std::string(host), *number, ""};
}

Error malformed_map(std::string_view part) {
  return {ErrorCode::kMisconfigured, "address-map has '" + printable(part, 80) + "' in it",
          "write address-map=NAME:PORT=HOST:PORT,..., or NAME=HOST where the ports are the same"};
}

}  // namespace

Result<std::optional<Endpoint>> mapped_endpoint(std::string_view map, const Endpoint& endpoint) {
  std::optional<Endpoint> found;
  bool exact = false;
  while (!map.empty()) {
    const std::string_view part = cut(map, ',');
    std::string_view rest = part;
    const auto name = parse_place(cut(rest, '='));
    const auto place = parse_place(rest);
    if (!name || !place || (name->port == 0) != (place->port == 0)) return malformed_map(part);
    if (name->host != endpoint.host || exact) continue;
    if (name->port == endpoint.port) {
      found = *place;
      exact = true;
    } else if (name->port == 0) {
      found = Endpoint{place->host, endpoint.port, ""};
    }
  }
  return found;
}

}  // namespace dlock::redis
