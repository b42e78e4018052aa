// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/result.h"

namespace dlock::redis {

/// THE PORT to the network, which tests replace: bytes to and from one server. Never blocks. After an error the stream
/// must not be used any more. Single-threaded.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual int fd() const = 0;
  /// The events for poll(2), POLLIN and/or POLLOUT, of an owner that always wants to read, and wants to write if
  /// `writing`.
  virtual short events(bool writing) const = 0;
  /// Continues connecting and the TLS handshake. True: ready for read() and write().
  virtual Result<bool> handshake() = 0;
  /// Writes the beginning of `bytes`; returns how many were written, 0 if the stream takes none now.
  virtual Result<std::size_t> write(std::string_view bytes) = 0;
  /// Reads into `into`; returns how many bytes, 0 if there are none now. The end of the stream is an error
  /// (Unavailable).
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  /// Whether the server has asked for a certificate of ours, which it may still refuse: until its first answer.
  virtual bool judges_us() const { return false; }
};

}  // namespace dlock::redis
