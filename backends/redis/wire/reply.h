// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/text.h"
#include "lib/base/time.h"
#include "lib/config/duration_text.h"

struct redisReader;

namespace dlock::redis {

/// One request: the words of a command, binary-safe.
using Command = std::vector<std::string>;

/// One answer of a server, RESP2. An error reply is a value like any other.
struct Reply {
  enum class Kind { kNil, kString, kStatus, kError, kInteger, kArray };
  Kind kind = Kind::kNil;
  std::string text;             ///< of kString, kStatus, kError
  std::int64_t integer = 0;     ///< of kInteger
  std::vector<Reply> elements;  ///< of kArray

  bool is_nil() const { return kind == Kind::kNil; }
  bool is_error() const { return kind == Kind::kError; }
  /// An error whose first word is `word`: "MOVED", "NOAUTH".
  bool is_error(std::string_view word) const {
    return is_error() && text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
  }
  bool is_text() const { return kind == Kind::kString || kind == Kind::kStatus; }
};

/// The text of `reply` for a message: printable, cut, without a full stop at its end.
std::string words_of(const Reply& reply);

/// Whether `reply` refuses a command because this user may not run it; also inside a script, where no version of Redis
/// says NOPERM.
bool is_denied(const Reply& reply);

/// Remedy for an error reply.
enum class Cure {
  kNone,   ///< it is refused for good: people have to change something (exit status 77 or 78)
  kOther,  ///< this server cannot now, another one perhaps: an outage (69)
  kLater,  ///< the same question in a moment; an outage if it goes on
};
/// A word that error replies begin with, and what it means: the table of dlock-redis(7).
struct ErrorWord {
  std::string_view word;
  Cure cure;
  ErrorCode code;
};
std::span<const ErrorWord> error_words();
/// The row of `reply`, also of a script's; nullptr for no error, and for words that are not known.
const ErrorWord* error_word(const Reply& reply);

/// The server did nothing, and the same question may be answered in a moment.
bool is_for_later(const Reply& reply);

/// A length of time for a script: whole milliseconds, rounded up.
inline std::string ms_text(Duration d) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

/// A moment from a script: ms since 1970 by the server's clock, no later than a Duration reaches (2262). Another client
/// may have chosen any end for its key.
inline WallTime from_ms(std::int64_t ms) {
  constexpr std::int64_t kLatest = Duration::max() / std::chrono::milliseconds(1);
  return WallTime(std::chrono::milliseconds(std::min(ms, kLatest)));
}

/// The server's time from a script: microseconds since 1970, as text.
inline WallTime server_time(const Reply& us) { return from_ms(leading_number<std::int64_t>(us.text) / 1000); }

/// The rest of a lease from PTTL, in ms, a century at most: 0 if it is over (-2); nullopt: it has no end (-1).
inline std::optional<Duration> lease_left(std::int64_t pttl) {
  if (pttl >= kLongestDuration / std::chrono::milliseconds(1)) return kLongestDuration;
  if (pttl >= 0) return std::chrono::milliseconds(pttl);
  return pttl == -2 ? std::optional(Duration(0)) : std::nullopt;
}

/// A list of names and values in turn, as HGETALL gives it.
inline std::map<std::string, std::string> pairs(const Reply& reply) {
  std::map<std::string, std::string> map;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2)
    map[reply.elements[i].text] = reply.elements[i + 1].text;
  return map;
}

/// The value of `name` in a flat list of names and values.
inline std::string_view flat_value(const Reply& list, std::string_view name) {
  for (std::size_t i = 0; i + 1 < list.elements.size(); i += 2) {
    if (list.elements[i].text == name) return list.elements[i + 1].text;
  }
  return {};
}

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
