// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "lib/config/backend_url.h"

namespace dlock {

/// Where a message ends in what goes over a connection.
enum class Framing {
  kBytes,    ///< what arrives at once is one
  kRedis,    ///< RESP, both versions
  kFrames,   ///< ZooKeeper's: a length of four bytes, the highest first, stands before each
  kPackets,  ///< MySQL's: a length of three bytes, the lowest first, and a number; an answer with rows is several
};

/// The size of the message with which `data` begins; nullopt: it is not complete. REQUIRES: `data` is not empty.
std::optional<std::size_t> message_size(Framing framing, std::string_view data);

/// How the store of `url` is spoken to. TLS, which MySQL begins on the way, is bytes.
Framing framing_of(const BackendUrl& url);

}  // namespace dlock
