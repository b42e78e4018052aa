// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"

struct redisReader;

namespace dlock::redis {

/// Appends `command` as a server wants to read it.
void append_encoded(std::string& out, const Command& command);

/// The replies in a stream of bytes that comes in pieces. After an error it is of no use any more.
class ReplyReader {
 public:
  /// A reply of more than that is an error: nothing that dlock asks for is that large. All elements count, those of
  /// arrays in arrays too, and keep what a reply takes in memory below 20 MiB.
  static constexpr std::size_t kLongestReply = 1 << 20;
  static constexpr std::size_t kMostElements = 1 << 16;
  static constexpr std::size_t kDeepestReply = 16;

  /// How much there is of the reply that is being read.
  struct Progress {
    std::size_t elements = 0;
    char foreign_kind = 0;  ///< the first byte of what only RESP3 has
  };

  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);

  /// The next whole reply, or nullopt: more bytes are needed. Unavailable: this is not RESP2 (so the message names the
  /// byte that is not), or too much; the message is the reason alone.
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
