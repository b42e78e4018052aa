// SPDX-License-Identifier: Apache-2.0
#include "lib/net/addresses.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "lib/base/text.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

std::optional<Address> ipv4(const char* host, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  if (inet_pton(AF_INET, host, &in.sin_addr) != 1) return std::nullopt;
  Address address;
  std::memcpy(&address.bytes, &in, sizeof in);
  address.size = sizeof in;
  return address;
}

/// The number of an interface: "eth0", or "2" as it is.
std::optional<std::uint32_t> zone_id(const std::string& zone) {
  if (const unsigned index = if_nametoindex(zone.c_str())) return index;
  return whole_number<std::uint32_t>(zone);
}

/// nullopt if `host` is not an IPv6 address. It may name a zone: "fe80::1%eth0".
std::optional<Address> ipv6(const std::string& host, std::uint16_t port) {
  const std::size_t percent = host.find('%');
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  if (inet_pton(AF_INET6, host.substr(0, percent).c_str(), &in.sin6_addr) != 1) return std::nullopt;
  if (percent != std::string::npos) {
    const auto zone = zone_id(host.substr(percent + 1));
    if (!zone) return std::nullopt;
    in.sin6_scope_id = *zone;
  }
  Address address;
  std::memcpy(&address.bytes, &in, sizeof in);
  address.size = sizeof in;
  return address;
}

}  // namespace

std::vector<Endpoint> endpoints(const BackendUrl& url) {
  const UrlScheme* scheme = find_url_scheme(url.scheme);
  const std::uint16_t usual = scheme == nullptr ? 0 : scheme->port;
  std::vector<Endpoint> all;
  for (const BackendUrl::Host& host : url.hosts) all.push_back({host.name, host.port == 0 ? usual : host.port, ""});
  return all;
}

std::string Endpoint::text() const {
  if (!socket.empty()) return socket;
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<Address> known_addresses(const std::string& host, std::uint16_t port) {
  if (host == "localhost") return {*ipv4("127.0.0.1", port), *ipv6("::1", port)};
  if (const auto four = ipv4(host.c_str(), port)) return {*four};
  if (const auto six = ipv6(host, port)) return {*six};
  return {};
}

}  // namespace dlock
