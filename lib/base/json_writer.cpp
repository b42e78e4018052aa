// SPDX-License-Identifier: Apache-2.0
#include "lib/base/json_writer.h"

#include <cstdio>

#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock {

JsonWriter& JsonWriter::key(std::string_view name) {
  if (comma_) out_ += ',';
  out_ += json_quote(name);
  out_ += ':';
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) { return raw(json_quote(value)); }

JsonWriter& JsonWriter::text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }

JsonWriter& JsonWriter::number_or_null(std::int64_t value) { return value == 0 ? null() : number(value); }

JsonWriter& JsonWriter::number(std::int64_t value) { return raw(std::to_string(value)); }

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::whole_ms(Duration value) {
  return number(std::chrono::duration_cast<std::chrono::milliseconds>(value).count());
}

JsonWriter& JsonWriter::ms(Duration value) {
  char digits[40];
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(value).count();
  std::snprintf(digits, sizeof digits, "%.3f", static_cast<double>(us) / 1000);
  return raw(digits);
}

JsonWriter& JsonWriter::field(std::string_view name, std::optional<int> value) {
  return value ? key(name).number(*value) : key(name).null();
}

JsonWriter& JsonWriter::field(std::string_view name, std::optional<Duration> value) {
  return value ? key(name).whole_ms(*value) : key(name).null();
}

JsonWriter& JsonWriter::field(std::string_view name, std::optional<WallTime> value) {
  return key(name).text_or_null(value ? rfc3339(*value) : "");
}

JsonWriter& JsonWriter::open(char bracket) {
  if (comma_) out_ += ',';
  out_ += bracket;
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view value) {
  if (comma_) out_ += ',';
  out_ += value;
  comma_ = true;
  return *this;
}

}  // namespace dlock
