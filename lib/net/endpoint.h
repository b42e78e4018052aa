// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace dlock {

/// Where a server listens: a host and port, or a Unix socket.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string socket;  ///< absolute path; empty: host and port

  std::string text() const;  ///< "10.0.0.1:6379", "[::1]:3306", "/run/redis.sock"
  auto operator<=>(const Endpoint&) const = default;
};

}  // namespace dlock
