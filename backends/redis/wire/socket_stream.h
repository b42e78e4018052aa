// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/redis/wire/byte_stream.h"
#include "backends/redis/wire/connection.h"
#include "lib/base/time.h"

namespace dlock::redis {

/// Begins to connect to `endpoint` over TCP or a Unix socket. Of several addresses each one is tried in turn, for its
/// share of the time until `until`. Errors are the reason alone ("connection refused"): the caller knows the endpoint.
Result<std::unique_ptr<ByteStream>> open_socket(const Endpoint& endpoint, TimePoint until);

/// The errors of a connected socket: what errno says ("connection reset by peer"), and the end of the stream.
Error socket_failure(int errnum);
Error closed_by_server();

}  // namespace dlock::redis
