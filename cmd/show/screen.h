// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cmd/show/output.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// One key of a terminal.
struct Key {
  enum class Kind { kText, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kBackspace, kEscape };
  Kind kind = Kind::kText;
  char text = '\0';  ///< of kText: one byte of what was typed

  bool operator==(const Key&) const = default;
};

/// Makes keys of the bytes that a terminal sends (xterm, tmux, the console: ECMA-48 in either mode of the cursor keys).
/// A key that is not one of ours is swallowed whole. Pure.
class KeyReader {
 public:
  std::vector<Key> feed(char byte);

  /// A sequence has begun. If nothing follows at once it was the Esc key: flush().
  bool is_open() const { return !pending_.empty(); }
  std::vector<Key> flush();

 private:
  std::string pending_;  ///< begins with Esc, unless it is empty
};

/// The whole terminal for a while: alternate screen, no cursor, keys one by one without echo. Signals that end or
/// resize are blocked during that time and read from signals(), so that none of them leaves the terminal spoilt. ^Z is
/// off. The destructor gives everything back.
class Screen {
 public:
  Screen(Output& out, int input);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int signals() const { return signals_.get(); }  ///< readable when next_signal() has one
  std::optional<int> next_signal();
  std::optional<char> next_key();  ///< call only when the input is readable; '\0' at its end

  /// Shows `text`, clipped to the height of the terminal. False if it does not take it.
  bool draw(const std::string& text);

 private:
  Output& out_;
  int input_;
  bool raw_ = false;
  termios before_{};
  sigset_t mask_before_{};
  UniqueFd signals_;
};

}  // namespace dlock
