// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlock {

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

}  // namespace dlock
