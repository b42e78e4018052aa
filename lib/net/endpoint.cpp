// SPDX-License-Identifier: Apache-2.0
#include "lib/net/endpoint.h"

namespace dlock {

std::string Endpoint::text() const {
  if (!socket.empty()) return socket;
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace dlock
