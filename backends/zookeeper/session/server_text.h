// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

namespace dlock::zookeeper {

/// "10.0.0.1:2181", as the client library takes it: an IPv6 address without brackets, since it cuts at the last colon.
std::string server_text(const sockaddr* address);

}  // namespace dlock::zookeeper
