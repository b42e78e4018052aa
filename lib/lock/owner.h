// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The random name of one acquisition: 32 hex digits (128 bits), the same for every retry of that acquisition. Who
/// knows it may renew and release. Not a fencing token: it has no order.
class Owner {
 public:
  static Owner random();
  /// Invalid unless `text` is 32 lower-case hex digits.
  static Result<Owner> parse(std::string_view text);

  const std::string& text() const { return text_; }
  auto operator<=>(const Owner&) const = default;

 private:
  explicit Owner(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace dlock
