// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock {

/// The text of one message, meant to be read and typed by people: a verb on the first line, then name=value lines; in
/// values '%', newline and NUL are written as %XX.
struct Message {
  std::string verb;
  std::map<std::string, std::string> fields;

  const std::string* find(const std::string& name) const;
};

/// The largest packet that either end sends or accepts: of locks with many waiters the last ones are only counted, long
/// texts are cut.
inline constexpr std::size_t kLargestMessage = 65536;

std::string encode(const Message& message);
/// Invalid for what encode() cannot have made.
Result<Message> decode(std::string_view packet);

/// Invalid: the other end has sent `what`, which no dlock of this version sends.
Error broken_message(const std::string& what);

/// Reads fields, each with `prefix` before its name, and remembers the first that was missing or wrong; from then on
/// its return value means nothing. `message` outlives it.
class MessageReader {
 public:
  explicit MessageReader(const Message& message, std::string prefix = {})
      : message_(message), prefix_(std::move(prefix)) {}

  bool has(const char* name) const { return message_.find(prefix_ + name) != nullptr; }

  std::string text(const char* name);
  std::string text_or_empty(const char* name) { return has(name) ? text(name) : std::string(); }
  std::int64_t number(const char* name);
  std::int64_t number_or(const char* name, std::int64_t otherwise) { return has(name) ? number(name) : otherwise; }
  Duration duration(const char* name) { return Duration(number(name)); }
  TimePoint point(const char* name) { return TimePoint(duration(name)); }
  std::optional<TimePoint> optional_point(const char* name) {
    return has(name) ? std::optional(point(name)) : std::nullopt;
  }
  std::optional<WallTime> optional_wall(const char* name) {
    return has(name) ? std::optional(WallTime(std::chrono::microseconds(number(name)))) : std::nullopt;
  }

  template <typename Enum>
  Enum choice(const char* name, Enum last) {
    const std::int64_t value = number(name);
    if (value < 0 || value > static_cast<std::int64_t>(last)) fail(name);
    return failed_.empty() ? static_cast<Enum>(value) : last;
  }

  void fail(const char* name);
  bool ok() const { return failed_.empty(); }
  Error error() const { return broken_message("'" + message_.verb + "' with a wrong or missing '" + failed_ + "'"); }

 private:
  const Message& message_;
  std::string prefix_;
  std::string failed_;
};

/// A number as it stands in a message.
template <typename Number>
std::string digits(Number number) {
  return std::to_string(number);
}
inline std::string digits(TimePoint point) { return std::to_string(point.time_since_epoch().count()); }

}  // namespace dlock
