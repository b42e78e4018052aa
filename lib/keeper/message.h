// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/text.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"

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

// A value as it stands in a message, and back: false for what cannot stand there.
inline std::string field_text(const std::string& text) { return text; }
inline std::string field_text(FencingToken token) { return token.text(); }
inline std::string field_text(const Owner& owner) { return owner.text(); }
inline std::string field_text(const LockName& name) { return name.text(); }
std::string field_text(const std::vector<std::string>& slots);
template <typename Number>
requires std::integral<Number> || std::is_enum_v<Number> std::string field_text(Number number) {
  return std::to_string(static_cast<std::int64_t>(number));
}
inline std::string field_text(Duration duration) { return field_text(duration.count()); }
template <typename Clock, typename Since>
std::string field_text(std::chrono::time_point<Clock, Since> point) {
  return field_text(point.time_since_epoch().count());
}

bool read_field(const std::string& text, std::string& value);
bool read_field(const std::string& text, FencingToken& token);
bool read_field(const std::string& text, Owner& owner);
bool read_field(const std::string& text, LockName& name);
bool read_field(const std::string& text, std::vector<std::string>& slots);
template <typename Number>
requires std::integral<Number> || std::is_enum_v<Number>
bool read_field(const std::string& text, Number& value) {
  const auto number = whole_number<std::int64_t>(text);
  bool fits = number && static_cast<std::int64_t>(static_cast<Number>(*number)) == *number;
  if constexpr (std::is_enum_v<Number>) fits = fits && *number >= 0 && static_cast<Number>(*number) <= last_of(value);
  if (fits) value = static_cast<Number>(*number);
  return fits;
}
template <typename Period>
bool read_field(const std::string& text, std::chrono::duration<std::int64_t, Period>& duration) {
  std::int64_t count = 0;
  const bool fits = read_field(text, count);
  duration = std::chrono::duration<std::int64_t, Period>(count);
  return fits;
}
template <typename Clock, typename Since>
bool read_field(const std::string& text, std::chrono::time_point<Clock, Since>& point) {
  Since since{};
  const bool fits = read_field(text, since);
  point = std::chrono::time_point<Clock, Since>(since);
  return fits;
}
template <typename T>
bool read_field(const std::string& text, std::optional<T>& value) {
  return read_field(text, value.emplace());
}

/// Writes fields (lib/base/fields.h), each with `prefix` before its name, and texts cut to `most` bytes. `message`
/// outlives it.
class MessageWriter {
 public:
  MessageWriter(Message& message, std::string prefix, std::size_t most)
      : message_(message), prefix_(std::move(prefix)), most_(most) {}

  template <typename T>
  void operator()(const char* name, const T& value) {
    message_.fields[prefix_ + name] = utf8_prefix(field_text(value), most_);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  template <typename T>
  void rare(const char* name, const T& value) {
    if (value != T()) (*this)(name, value);
  }
  template <typename T>
  void unshown(const char* name, const T& value) {
    rare(name, value);
  }

 private:
  Message& message_;
  std::string prefix_;
  std::size_t most_;
};

/// Reads them, and remembers the first that was missing or wrong; from then on what it has read means nothing.
/// `message` outlives it.
class MessageReader {
 public:
  explicit MessageReader(const Message& message, std::string prefix = {})
      : message_(message), prefix_(std::move(prefix)) {}

  bool has(const char* name) const { return message_.find(prefix_ + name) != nullptr; }

  template <typename T>
  void operator()(const char* name, T& value) {
    const std::string* text = message_.find(prefix_ + name);
    if (!text || !read_field(*text, value)) fail(name);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    rare(name, value);
  }
  template <typename T>
  void rare(const char* name, T& value) {
    const std::string* text = message_.find(prefix_ + name);
    if (text && !read_field(*text, value)) fail(name);
  }
  template <typename T>
  void unshown(const char* name, T& value) {
    rare(name, value);
  }

  void fail(const char* name) {
    if (failed_.empty()) failed_ = prefix_ + name;
  }
  bool ok() const { return failed_.empty(); }
  Error error() const { return broken_message("'" + message_.verb + "' with a wrong or missing '" + failed_ + "'"); }

 private:
  const Message& message_;
  std::string prefix_;
  std::string failed_;
};

}  // namespace dlock
