// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace dlock {

/// The part of `rest` before the first `separator`, all of it if there is none; `rest` keeps the part after it.
std::string_view cut(std::string_view& rest, char separator);

/// The number that fills `text`: nothing before or after it, no '+', '-' only for signed types, in the type's range.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// The number with which `text` begins, whatever follows it; 0 if it begins with none that fits the type.
template <typename Number>
Number leading_number(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// `bytes` as lower-case hex, two digits each.
std::string hex(std::span<const unsigned char> bytes);
std::string hex(std::string_view bytes);
/// The bytes that `digits`, in either case, stand for; nullopt for an odd number of them and for other characters.
std::optional<std::string> from_hex(std::string_view digits);
/// The same into `bytes`; false, with `bytes` in part written, unless `digits` stand for just as many.
bool from_hex(std::string_view digits, std::span<unsigned char> bytes);

/// Appends `byte` to `out` as '%' and two upper-case hex digits.
void percent_escape(std::string& out, unsigned char byte);

/// `text` with every byte escaped that `is_plain(byte)` does not let through. REQUIRES: '%' is not plain.
template <typename IsPlain>
std::string percent_escaped(std::string_view text, const IsPlain& is_plain) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte)) out += c;
    else percent_escape(out, byte);
  }
  return out;
}

/// `text` with every escape undone, in either case; nullopt if a '%' is not followed by two hex digits.
std::optional<std::string> percent_unescaped(std::string_view text);

/// U+FFFD, which stands for what is not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// One character of a text, or one byte that begins none.
struct Utf8Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The character at the front of `text`, as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
/// REQUIRES: `text` is not empty.
Utf8Character front_character(std::string_view text);

/// `text` as a JSON string literal with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// The longest beginning of `text` that has `most` bytes or less and cuts no UTF-8 character in two.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace dlock
