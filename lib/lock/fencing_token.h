// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// A number per key that only grows from one exclusive acquisition to the next (Burrows, "The Chubby lock service",
/// OSDI 2006, section 2.4: the sequencer). 0 is none: the lock is free, or the store has no such numbers.
class FencingToken {
 public:
  FencingToken() = default;
  explicit FencingToken(std::uint64_t value) : value_(value) {}
  /// Invalid unless `text` is a decimal number from 1 to 2^63 - 1, without sign or blanks.
  static Result<FencingToken> parse(std::string_view text);
  /// Reads the result of text(): "0" is none.
  static Result<FencingToken> parse_any(std::string_view text);

  bool is_none() const { return value_ == 0; }
  std::uint64_t value() const { return value_; }
  std::string text() const { return std::to_string(value_); }
  /// As scripts read it: nothing where there is none.
  std::string shown() const { return is_none() ? std::string() : text(); }
  auto operator<=>(const FencingToken&) const = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace dlock
