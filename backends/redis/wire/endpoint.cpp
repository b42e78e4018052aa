// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/endpoint.h"

namespace dlock::redis {

std::string Endpoint::text() const {
  if (!socket.empty()) return socket;
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace dlock::redis
