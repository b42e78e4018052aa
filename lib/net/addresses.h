// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/config/backend_url.h"

namespace dlock {

/// Where a server listens: a host and port, or a Unix socket.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string socket;  ///< absolute path; empty: host and port

  std::string text() const;  ///< "10.0.0.1:6379", "[::1]:3306", "/run/redis.sock"
  auto operator<=>(const Endpoint&) const = default;
};

/// The servers that a URL names, in its order, with the scheme's port where it says none.
std::vector<Endpoint> endpoints(const BackendUrl& url);

/// Where to connect to.
struct Address {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// The addresses that need no lookup: those of a numeric IPv4 or IPv6 address (also with a zone), and of "localhost".
/// Empty for every other host.
std::vector<Address> known_addresses(const std::string& host, std::uint16_t port);

}  // namespace dlock
