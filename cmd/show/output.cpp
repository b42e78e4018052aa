// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cmd/show/exit_status.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"

namespace dlock {
namespace {

bool wants_colour(When when, bool terminal) {
  if (when != When::kAuto) return when == When::kAlways;
  const char* no_colour = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  return terminal && !(no_colour && *no_colour) && term && std::string_view(term) != "dumb";
}

bool has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = getenv(name);
    if (locale && *locale) return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
  }
  return false;
}

Error not_for_writing(const std::string& what_was_done) {
  return {ErrorCode::kSystem, "cannot write to stdout: it is closed, or open only for reading",
          what_was_done + "; to throw away what is printed: >/dev/null"};
}

constexpr std::string_view kWipeLine = "\r\033[K";

/// The longest line that is wiped again: with room for the "^C" that a terminal writes after it.
std::size_t line_width(int fd) {
  constexpr std::size_t kRoom = 3;
  winsize size{};
  return (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > kRoom ? size.ws_col : 80u) - kRoom;
}

}  // namespace

Look look_of(int fd, bool colour) {
  Look look{.terminal = isatty(fd) == 1, .colour = colour};
  if (!look.terminal) return look;
  winsize size{};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
  look.width = known && size.ws_col > 0 ? size.ws_col : 80;
  look.height = known && size.ws_row > 1 ? size.ws_row - 1U : 23;
  look.unicode = has_unicode();
  return look;
}

Output Output::standard(const Options& options) {
  return {1, look_of(1, wants_colour(options.colour, isatty(1) == 1))};
}

void Output::measure() {
  if (fd_ >= 0 && look_.terminal) look_ = look_of(fd_, look_.colour);
}

Result<void> Output::check() const {
  const int flags = fd_ < 0 ? O_WRONLY : fcntl(fd_, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return {};
  return not_for_writing("nothing was done");
}

Result<void> Output::write(std::string_view text) { return write_by(write_all, text); }

Result<void> Output::write_in_time(std::string_view text) { return write_by(dlock::write_in_time, text); }

Result<void> Output::write_by(bool (*writer)(int, std::string_view), std::string_view text) {
  if (sink_) {
    sink_->append(text);
    return {};
  }
  if (writer(fd_, text)) return {};
  if (errno == EBADF) return not_for_writing("it was done, but its output is lost");
  return Error{ErrorCode::kSystem, "cannot write to stdout: " + errno_text(errno),
               "is the disk full, or its reader gone?"};
}

int print(Output& out, const Log& log, std::string_view text, int status) {
  const auto written = out.write(text);
  return written ? status : fail(log, written.error());
}

std::string painted(std::string_view text, Paint paint, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  constexpr const char* kCodes[] = {"\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};
  return std::string(kCodes[static_cast<std::size_t>(paint)]).append(text).append("\033[0m");
}

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
