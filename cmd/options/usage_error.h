// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/text.h"

namespace dlock {

/// A mistake in what the user typed: what is wrong, and how to write it. Exit status 64.
inline Error usage_error(std::string message, std::string next) {
  return {ErrorCode::kInvalid, std::move(message), std::move(next)};
}

/// A word of the user's in a message: in quotation marks, cut after 80 bytes.
inline std::string in_quotes(std::string_view word) {
  std::string text = "'";
  return text.append(utf8_prefix(word, 80)).append(word.size() > 80 ? "...'" : "'");
}

}  // namespace dlock
