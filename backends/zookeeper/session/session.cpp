// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/session.h"

#include <arpa/inet.h>

namespace dlock::zookeeper {

std::string server_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  std::uint16_t port = 0;
  if (address->sa_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
    port = ntohs(in->sin6_port);
  } else {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    port = ntohs(in->sin_port);
  }
  return std::string(text) + ":" + std::to_string(port);
}

}  // namespace dlock::zookeeper
