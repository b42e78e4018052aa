// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dlock {

/// One key of a terminal.
struct Key {
  enum class Kind { kText, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kBackspace, kEscape };
  Kind kind = Kind::kText;
  char text = '\0';  ///< of kText: one byte of what was typed

  bool operator==(const Key&) const = default;
};

/// Makes keys of the bytes that a terminal sends (xterm, tmux, the console: ECMA-48 in either mode of the cursor keys).
/// What is no key of ours is swallowed whole. Pure.
class KeyReader {
 public:
  std::vector<Key> feed(char byte);

  /// A sequence has begun. If nothing follows at once it was the Esc key: flush().
  bool is_open() const { return !pending_.empty(); }
  std::vector<Key> flush();

 private:
  std::string pending_;  ///< begins with Esc, unless it is empty
};

}  // namespace dlock
