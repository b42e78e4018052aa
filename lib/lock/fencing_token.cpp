// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/fencing_token.h"

#include "lib/base/text.h"

namespace dlock {

Result<FencingToken> FencingToken::parse(std::string_view text) {
  const auto value = whole_number<std::int64_t>(text);
  if (!value || *value < 1) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not a fencing token",
                 "it is the number in DLOCK_TOKEN, or the second word that 'dlock acquire' printed"};
  }
  return FencingToken(static_cast<std::uint64_t>(*value));
}

Result<FencingToken> FencingToken::parse_any(std::string_view text) {
  if (text == "0") return FencingToken();
  return parse(text);
}

}  // namespace dlock
