// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dlock {

/// One line at the end of a terminal, rewritten until it is wiped.
class TerminalLine {
 public:
  explicit TerminalLine(int fd) : fd_(fd) {}

  /// Whether `fd` is a terminal on which a line can be rewritten.
  static bool fits(int fd);

  /// Shows `text`, cut to the width of the terminal.
  void draw(const std::string& text);
  void wipe();

 private:
  const int fd_;
  bool on_screen_ = false;
};

}  // namespace dlock
