// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/byte_stream.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// Asks a server, over a connection without TLS that is this one's own, which protocol it speaks there: what a server
/// hears that expects the other one is no reason to answer. Never blocks. One thread.
class ProtocolProbe {
 public:
  enum class Protocol { kPlain, kTls };

  ProtocolProbe(std::unique_ptr<ByteStream> stream, Protocol asked) : stream_(std::move(stream)), asked_(asked) {}

  /// Whether the server speaks what was asked for; nullopt: it has not said so yet. False is also that nobody knows.
  std::optional<bool> advance();
  void add_interest(std::vector<pollfd>& fds) const;

 private:
  std::string_view question() const;

  std::unique_ptr<ByteStream> stream_;
  Protocol asked_;
  bool ready_ = false;
  std::size_t sent_ = 0;
  std::string heard_ = {};
};

/// What is wrong then, without the server's name.
Error speaks_no_tls();
Error speaks_tls();

}  // namespace dlock::redis
