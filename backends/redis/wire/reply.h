// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

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

}  // namespace dlock::redis
