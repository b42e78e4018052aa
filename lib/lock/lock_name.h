// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The name of a lock: valid UTF-8, 1 to 255 bytes, no control characters; or that of a slot (--once), which is two
/// such texts with a control character in between, so that no user and no other program has a lock there. Once made it
/// is simply valid. Compares bytewise, which is the canonical order in which several locks are taken.
class LockName {
 public:
  /// Invalid (with the reason) if `text` breaks one of the rules.
  static Result<LockName> parse(std::string_view text);
  /// The lock that remembers that `slot` of `key` has run. Invalid for an empty slot, for what no name may have, and
  /// where both together are too long for one.
  static Result<LockName> of_slot(const LockName& key, std::string_view slot);
  /// text() of a name of either kind, as a store or another of dlock's processes has it.
  static Result<LockName> parse_stored(std::string_view text);
  /// One that no lock has, for LockAdmin::ping(): "dlock-ping-" and 16 random digits.
  static LockName for_ping();

  const std::string& text() const { return text_; }
  bool is_slot() const { return text_.find(kSlotMark) != std::string::npos; }
  /// The two parts; of a name that is no slot's: all of it, and nothing.
  std::string_view key() const { return std::string_view(text_).substr(0, text_.find(kSlotMark)); }
  std::string_view slot() const { return is_slot() ? std::string_view(text_).substr(key().size() + 1) : ""; }
  /// As a person knows it: "nightly", "slot 2026-11-26 of nightly".
  std::string spoken() const;
  /// As it is typed in a shell, after the options: "deploy/prod", "'a b'", "-- -x".
  std::string typed() const;
  /// A name that begins with '/' means that very file, on the local backend; one of "./" and "../" does once the
  /// command line has made it such a name.
  bool is_path() const { return text_.front() == '/'; }
  bool is_relative_path() const { return text_.starts_with("./") || text_.starts_with("../"); }
  auto operator<=>(const LockName&) const = default;

 private:
  static constexpr char kSlotMark = '\x1f';
  explicit LockName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace dlock
