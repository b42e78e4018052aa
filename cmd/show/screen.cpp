// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/screen.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace dlock {
namespace {

std::size_t terminal_height(int fd) {
  winsize size{};
  return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

}  // namespace

Screen::Screen(Output& out, int input) : out_(out), input_(input) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, &mask_before_);
  signals_ = UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (tcgetattr(input_, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    raw_ = tcsetattr(input_, TCSANOW, &raw) == 0;
  }
  static_cast<void>(out_.write("\033[?1049h\033[?25l"));
}

Screen::~Screen() {
  static_cast<void>(out_.write("\033[?25h\033[?1049l"));
  if (raw_) tcsetattr(input_, TCSADRAIN, &before_);
  // Whoever sent a signal that we have not read yet gets his way now.
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<int> Screen::next_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::optional<char> Screen::next_key() {
  char key = '\0';
  const ssize_t n = read(input_, &key, 1);
  if (n < 0) return std::nullopt;
  return n == 0 ? '\0' : key;
}

bool Screen::draw(const std::string& text) {
  const std::size_t height = terminal_height(out_.fd());
  std::string frame = "\033[H";
  std::size_t at = 0;
  for (std::size_t line = 0; line < height && at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line > 0) frame += "\r\n";
    frame.append(text, at, end - at).append("\033[K");
    at = end + 1;
  }
  return static_cast<bool>(out_.write(frame + "\033[J"));
}

}  // namespace dlock
