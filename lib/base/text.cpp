// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace dlock {
namespace {

/// By character; -1: no hex digit.
constexpr auto kDigitValues = [] {
  std::array<signed char, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i) values['0' + static_cast<std::size_t>(i)] = static_cast<signed char>(i);
  for (int i = 0; i < 6; ++i) {
    values['a' + static_cast<std::size_t>(i)] = values['A' + static_cast<std::size_t>(i)] =
        static_cast<signed char>(10 + i);
  }
  return values;
}();

int digit_value(char c) { return kDigitValues[static_cast<unsigned char>(c)]; }

/// The byte of two digits; negative if they are none.
int byte_value(char high, char low) { return digit_value(high) * 16 | digit_value(low); }

}  // namespace

std::string_view cut(std::string_view& rest, char separator) {
  const std::string_view front = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), front.size() + 1));
  return front;
}

std::string hex(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string hex(std::string_view bytes) {
  return hex(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

bool from_hex(std::string_view digits, std::span<unsigned char> bytes) {
  if (digits.size() != 2 * bytes.size()) return false;
  const char* at = digits.data();
  for (unsigned char& one : bytes) {
    const int byte = byte_value(at[0], at[1]);
    if (byte < 0) return false;
    one = static_cast<unsigned char>(byte);
    at += 2;
  }
  return true;
}

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes(digits.size() / 2, '\0');
  if (!from_hex(digits, {reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()})) return std::nullopt;
  return bytes;
}

void percent_escape(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
}

std::optional<std::string> percent_unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const int byte = at + 2 < text.size() ? byte_value(text[at + 1], text[at + 2]) : -1;
    if (byte < 0) return std::nullopt;
    out += static_cast<char>(byte);
    at += 2;
  }
  return out;
}

Utf8Character front_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // shorter ones have fewer bytes
  const std::size_t bytes = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes, true};
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character front = front_character(text);
    const char c = text.front();
    if (!front.valid) out += "\\ufffd";
    else if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else out += text.substr(0, front.bytes);
    text.remove_prefix(front.bytes);
  }
  return out + '"';
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  std::size_t end = most;
  while (end > 0 && most - end < 3 && is_inside(text[end])) --end;
  return text.substr(0, is_inside(text[end]) ? most : end);  // more than three in a row: that is not UTF-8
}

}  // namespace dlock
