// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "cmd/options/options.h"
#include "lib/base/log.h"
#include "lib/base/result.h"

namespace dlock {

/// Limits for a text: the terminal that it goes to, if it is one.
struct Look {
  bool terminal = false;  ///< a user watches: redrawing and block characters make sense
  bool colour = false;
  std::size_t width = 0;   ///< columns; 0: not limited
  std::size_t height = 0;  ///< lines that can be seen at once, besides a shell's prompt; 0: not limited
  bool unicode = true;     ///< of a terminal: its locale has more than ASCII
};

/// The look of `fd`: with the size of its terminal, if it is one.
Look look_of(int fd, bool colour);

/// Where a command's data goes: a descriptor (stdout), or a string (tests). Owns neither.
class Output {
 public:
  Output(int fd, const Look& look) : fd_(fd), look_(look) {}
  Output(std::string& sink, const Look& look) : sink_(&sink), look_(look) {}

  /// fd 1, with the look that its terminal, --color, NO_COLOR and TERM ask for.
  static Output standard(const Options& options);

  /// Fails with System if the descriptor is closed, or not open for writing. For a look before anything is changed.
  Result<void> check() const;

  /// Fails with System if the descriptor does not take all of `text`. Waits for as long as a reader lets it wait.
  Result<void> write(std::string_view text);
  /// The same for a process that holds a lock: it also fails if nothing is read for half a second.
  Result<void> write_in_time(std::string_view text);

  const Look& look() const { return look_; }
  int fd() const { return fd_; }  ///< -1: a string
  void measure();                 ///< the terminal was resized

 private:
  Result<void> write_by(bool (*writer)(int, std::string_view), std::string_view text);

  int fd_ = -1;
  std::string* sink_ = nullptr;
  Look look_;
};

/// The answer of poll(2) for a descriptor without a reader: of a pipe an error, of a socket a hang-up.
inline constexpr short kNobodyReads = POLLERR | POLLHUP | POLLNVAL;

/// Writes `text` to `out` and returns `status`; if that fails, says so on stderr and returns 71.
int print(Output& out, const Log& log, std::string_view text, int status = 0);

/// `text` in bold, yellow, ... if `colour`.
enum class Paint { kBold, kDim, kRed, kGreen, kYellow };
std::string painted(std::string_view text, Paint paint, bool colour);

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
