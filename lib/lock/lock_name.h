// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The name of a lock: valid UTF-8, 1 to 255 bytes, no control characters. Once made it is simply valid. Compares
/// bytewise, which is the canonical order in which several locks are taken.
class LockName {
 public:
  /// Invalid (with the reason) if `text` breaks one of the rules.
  static Result<LockName> parse(std::string_view text);
  /// One that no lock has, for LockAdmin::ping(): "dlock-ping-" and 16 random digits.
  static LockName for_ping();

  const std::string& text() const { return text_; }
  /// As it is typed in a shell, after the options: "deploy/prod", "'a b'", "-- -x".
  std::string typed() const;
  /// A name that begins with '/' means that very file, on the local backend; one of "./" and "../" does once the
  /// command line has made it such a name.
  bool is_path() const { return text_.front() == '/'; }
  bool is_relative_path() const { return text_.starts_with("./") || text_.starts_with("../"); }
  auto operator<=>(const LockName&) const = default;

 private:
  explicit LockName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace dlock
