// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/owner.h"

#include <algorithm>

#include "lib/base/random.h"

namespace dlock {
namespace {

constexpr std::size_t kBytes = 16;

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Owner Owner::random() { return Owner(random_hex(kBytes)); }

Result<Owner> Owner::parse(std::string_view text) {
  if (text.size() != 2 * kBytes || !std::all_of(text.begin(), text.end(), is_lower_hex)) {
    return Error{ErrorCode::kInvalid, "'" + std::string(text) + "' is not an owner handle",
                 "it is the first word that 'dlock acquire' printed: 32 hex digits"};
  }
  return Owner(std::string(text));
}

}  // namespace dlock
