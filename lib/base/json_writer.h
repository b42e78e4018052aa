// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace dlock {

/// Writes one JSON value on one line, members in the order in which they are put. It adds commas and quotes;
/// the caller balances begin and end. REQUIRES: inside an object every value comes right after its key().
class JsonWriter {
 public:
  JsonWriter() = default;
  /// Begins an object of this schema.
  explicit JsonWriter(std::string_view schema) { begin_object().key("schema").text(schema); }

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);
  JsonWriter& text_or_null(std::string_view value);  ///< null for an empty text: not known
  JsonWriter& number(std::int64_t value);
  JsonWriter& number_or_null(std::int64_t value);  ///< null for 0: there is none
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& whole_ms(Duration value);  ///< milliseconds, rounded down: 41
  JsonWriter& ms(Duration value);        ///< milliseconds to the microsecond: 0.021

  /// key() and the value; null for one that is not known: an empty text, or nullopt.
  JsonWriter& field(std::string_view name, std::string_view value) { return key(name).text_or_null(value); }
  JsonWriter& field(std::string_view name, std::optional<int> value);
  JsonWriter& field(std::string_view name, std::optional<Duration> value);  ///< in whole milliseconds
  JsonWriter& field(std::string_view name, std::optional<WallTime> value);  ///< RFC 3339
  template <std::integral Value>
  JsonWriter& field(std::string_view name, Value value) {
    if constexpr (std::same_as<Value, bool>) return key(name).boolean(value);
    else return key(name).number(static_cast<std::int64_t>(value));
  }

  /// An array of what `put` writes of each item.
  template <typename Items, typename Put>
  JsonWriter& list(std::string_view name, const Items& items, Put put) {
    key(name).begin_array();
    for (const auto& item : items) put(item);
    return end_array();
  }
  template <typename Texts>
  JsonWriter& texts(std::string_view name, const Texts& texts) {
    return list(name, texts, [this](const auto& one) { text(one); });
  }

  const std::string& str() const { return out_; }
  std::string line() const { return out_ + '\n'; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view value);
  std::string out_;
  bool comma_ = false;  ///< something stands before the next key or element
};

}  // namespace dlock
