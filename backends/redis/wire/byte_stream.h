// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/result.h"

namespace dlock::redis {

/// Bytes to and from one server, never blocking: where the network begins (and where tests cut it). One owner, one
/// thread. After an error the stream is dead.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual int fd() const = 0;
  /// What poll(2) should watch for before the next call makes sense, POLLIN and/or POLLOUT: given that the owner wants
  /// to read always, and to write if `writing`.
  virtual short events(bool writing) const = 0;
  /// Moves a connect or a handshake on. True: ready for read() and write().
  virtual Result<bool> handshake() = 0;
  /// How many bytes went out; 0: none now.
  virtual Result<std::size_t> write(std::string_view bytes) = 0;
  /// How many bytes came in; 0: none now. The end of the stream is an error (Unavailable).
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

}  // namespace dlock::redis
