// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/terminal_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

constexpr std::string_view kWipeLine = "\r\033[K";

/// The longest line that is wiped again: with room for the "^C" that a terminal writes after it.
std::size_t line_width(int fd) {
  constexpr std::size_t kRoom = 3;
  winsize size{};
  return (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > kRoom ? size.ws_col : 80u) - kRoom;
}

}  // namespace

bool TerminalLine::fits(int fd) {
  const char* kind = getenv("TERM");
  return isatty(fd) && kind && std::string_view(kind) != "dumb";
}

void TerminalLine::draw(const std::string& text) {
  write_in_time(fd_, std::string(kWipeLine) + elided(text, line_width(fd_)));
  on_screen_ = true;
}

void TerminalLine::wipe() {
  if (on_screen_) write_in_time(fd_, kWipeLine);
  on_screen_ = false;
}

}  // namespace dlock
