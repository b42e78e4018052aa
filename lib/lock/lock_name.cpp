// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/lock_name.h"

#include <algorithm>

#include "lib/base/human_text.h"
#include "lib/base/random.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr std::size_t kMaxBytes = 255;

Error bad_name(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "a key is 1 to 255 bytes of UTF-8 without control characters"};
}

}  // namespace

Result<LockName> LockName::parse(std::string_view text) {
  if (text.empty()) return bad_name("the key is empty");
  if (text.size() > kMaxBytes)
    return bad_name("the key is " + std::to_string(text.size()) + " bytes long, 255 at most");
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] >= 0x20 && text[at] < 0x7F) {  // as most are
      ++at;
      continue;
    }
    const Utf8Character c = front_character(text.substr(at));
    if (!c.valid) return bad_name("the key is not valid UTF-8 at byte " + std::to_string(at));
    if (c.code < 0x20 || (c.code >= 0x7F && c.code <= 0x9F)) {
      return bad_name("the key has a control character at byte " + std::to_string(at));
    }
    at += c.bytes;
  }
  return LockName(std::string(text));
}

Result<LockName> LockName::of_slot(const LockName& key, std::string_view slot) {
  if (slot.empty()) return Error{ErrorCode::kInvalid, "a slot needs a name", "such as --once \"$(date +%F)\""};
  const std::size_t room = kMaxBytes - std::min(kMaxBytes, key.text_.size() + 1);
  auto fits = parse(slot);
  if (fits && slot.size() <= room) return LockName(key.text_ + kSlotMark + std::string(slot));
  return Error{
      ErrorCode::kInvalid,
      "slot '" + printable(slot, 80) + "' of " + key.text_ + ": " +
          (fits ? "both together are longer than " + std::to_string(kMaxBytes - 1) + " bytes" : fits.error().message),
      "choose a shorter one, without control characters"};
}

Result<LockName> LockName::parse_stored(std::string_view text) {
  const std::size_t mark = text.find(kSlotMark);
  auto key = parse(text.substr(0, mark));
  return !key || mark == std::string_view::npos ? key : of_slot(*key, text.substr(mark + 1));
}

std::string LockName::spoken() const {
  return is_slot() ? "slot " + std::string(slot()) + " of " + std::string(key()) : text_;
}

LockName LockName::for_ping() { return LockName("dlock-ping-" + random_hex(8)); }

std::string LockName::typed() const { return (text_.front() == '-' ? "-- " : "") + shell_word(text_); }

}  // namespace dlock
