// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lib/base/result.h"

namespace dlock {

/// Messages of dlock to people, on stderr. A message of up to 4096 bytes is one write(2), and its failure is ignored: a
/// dead or full stderr changes nothing, nor does one without a reader. Buffers nothing: the message is written, or
/// given up, when the call returns.
class Log {
 public:
  enum class Format { kText, kJson };
  struct Style {
    Format format = Format::kText;
    bool quiet = false;    ///< -q: errors only
    bool verbose = false;  ///< -v
    bool colour = false;
  };

  /// Subject of a message, for programs. People read it in the message itself.
  struct About {
    const char* event = "";   ///< one word; empty: of an error its kind, else "note"
    std::string key = {};     ///< of the lock; empty: the only one that this process works on
    std::string holder = {};  ///< the holder, as JSON; empty: the message names none
  };

  Log() = default;
  /// `same_store` is what a dlock command in an advice needs to mean the store of this process: " -b URL", or nothing.
  /// `key`: the only one that this process works on, or empty.
  explicit Log(const Style& style, int fd = 2, std::string same_store = {}, std::string key = {})
      : style_(style), fd_(fd), same_store_(std::move(same_store)), key_(std::move(key)) {}

  void error(const Error& error) const { this->error(error, About()); }  ///< always: "dlock: message", then "  next"
  void error(const Error& error, const About& about) const;
  void warn(std::string_view message) const { warn(message, About()); }  ///< unless quiet
  void warn(std::string_view message, const About& about) const;
  void notice(std::string_view message) const { notice(message, About()); }  ///< unless quiet
  void notice(std::string_view message, const About& about) const;
  void verbose(std::string_view message) const;  ///< with -v; the event is "step"
  const Style& style() const { return style_; }
  /// The same, whose advice means another store.
  Log with_store(std::string same_store) const { return Log(style_, fd_, std::move(same_store), key_); }
  int fd() const { return fd_; }

 private:
  void say(const char* level, std::string_view message, std::string_view next, const About& about) const;
  std::string json_line(const char* level, std::string_view message, std::string_view next, const About& about) const;
  Style style_;
  int fd_ = 2;
  std::string same_store_;
  std::string key_;
};

/// The kind of an error in one word, as --log-format json has it: "busy", "invalid".
const char* error_name(ErrorCode code);

/// `advice` with `options` after the name of each dlock command in it that asks a store: "see: dlock doctor" and
/// " -b redis://h" are "see: dlock doctor -b redis://h".
std::string with_options(std::string advice, std::string_view options);

}  // namespace dlock
