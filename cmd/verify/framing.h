// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "lib/config/backend_url.h"

namespace dlock {

/// How the bytes of a connection are divided into messages, so that it can be cut behind the n-th one.
enum class Framing {
  kBytes,    ///< not known: whatever one read(2) returns counts as a message
  kRedis,    ///< RESP, both versions
  kFrames,   ///< ZooKeeper's: a length of four bytes, the highest first, stands before each
  kPackets,  ///< MySQL's: a length of three bytes, the lowest first, and a number; an answer with rows is several
};

/// The size in bytes of the message with which `data` begins; nullopt if it is not complete yet. REQUIRES: `data` is
/// not empty.
std::optional<std::size_t> message_size(Framing framing, std::string_view data);

/// The framing of the protocol of `url`. kBytes with TLS, where nothing can be seen of the messages, and for MySQL,
/// whose connections may begin TLS later.
Framing framing_of(const BackendUrl& url);

}  // namespace dlock
