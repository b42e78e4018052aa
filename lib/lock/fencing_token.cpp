// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/fencing_token.h"

#include <charconv>
#include <limits>

namespace dlock {

Result<FencingToken> FencingToken::parse(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 1) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not a fencing token",
                 "it is the number in DLOCK_TOKEN, or the second word that 'dlock acquire' printed"};
  }
  return FencingToken(static_cast<std::uint64_t>(value));
}

}  // namespace dlock
