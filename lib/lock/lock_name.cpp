// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_name.h"

#include <cstdint>

namespace dlock {
namespace {

constexpr std::size_t kMaxBytes = 255;

/// The length of the well-formed UTF-8 sequence at the front of `text` (RFC 3629: no overlong forms, no surrogates,
/// nothing above U+10FFFF), or 0. Puts the character in `code`.
std::size_t decode_front(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  std::uint32_t least = 0;
  if (lead < 0x80) {
    code = lead;
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) length = 2, least = 0x80, code = lead & 0x1F;
  else if ((lead & 0xF0) == 0xE0) length = 3, least = 0x800, code = lead & 0x0F;
  else if (lead >= 0xF0 && lead <= 0xF4) length = 4, least = 0x10000, code = lead & 0x07;
  else return 0;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= least && code <= 0x10FFFF && !surrogate ? length : 0;
}

Error bad_name(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "a key is 1 to 255 bytes of UTF-8 without control characters"};
}

}  // namespace

Result<LockName> LockName::parse(std::string_view text) {
  if (text.empty()) return bad_name("the key is empty");
  if (text.size() > kMaxBytes)
    return bad_name("the key is " + std::to_string(text.size()) + " bytes long, 255 at most");
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const std::size_t length = decode_front(text.substr(at), code);
    if (length == 0) return bad_name("the key is not valid UTF-8 at byte " + std::to_string(at));
    if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) {
      return bad_name("the key has a control character at byte " + std::to_string(at));
    }
    at += length;
  }
  return LockName(std::string(text));
}

}  // namespace dlock
