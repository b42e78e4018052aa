// SPDX-License-Identifier: Apache-2.0
struct redisReader;
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// Whether `reply` is a message of a subscription, not the answer to a command.
bool is_pushed(const Reply& reply);

bool is_subscription(const Command& command);

/// How many replies `command` gets: one, but a subscription one for each channel.
std::size_t answers_to(const Command& command);

/// Appends `command` to `out` as a RESP array.
void append_encoded(std::string& out, const Command& command);

/// Reads replies from a stream of bytes that comes in pieces. Must not be used any more after an error.
class ReplyReader {
 public:
  /// A larger reply is an error: dlock asks for nothing that large. All elements count, those of nested arrays, too.
  /// The limits keep a reply below 20 MiB of memory.
  static constexpr std::size_t kLongestReply = 1 << 20;
  static constexpr std::size_t kMostElements = 1 << 16;
  static constexpr std::size_t kDeepestReply = 16;

  /// How much there is of the reply that is being read.
  struct Progress {
    std::size_t elements = 0;
    char foreign_kind = 0;  ///< the first byte of a RESP3 type, if one has come
  };

  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);

  /// The next whole reply, or nullopt: more bytes are needed. Unavailable if the stream is not RESP2 (the message
  /// names the first wrong byte) or the reply is too large; the message is the reason alone.
  Result<std::optional<Reply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  Progress progress_;
  std::unique_ptr<redisReader, Free> reader_;
  std::size_t fed_ = 0;  ///< since the last whole reply
  bool looks_like_tls_ = false;
  bool any_reply_ = false;
};

}  // namespace dlock::redis
