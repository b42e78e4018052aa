// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/screen.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace dlock {
namespace {

constexpr char kEsc = '\033';
constexpr char kDelete = '\177';

/// Of a whole sequence, without its Esc: "[A", "OA", "[5~".
std::optional<Key> sequence_key(std::string_view sequence) {
  struct Known {
    std::string_view sequence;
    Key::Kind kind;
  };
  static constexpr Known kSequences[] = {
      {"[A", Key::Kind::kUp},      {"OA", Key::Kind::kUp},        {"[B", Key::Kind::kDown},  {"OB", Key::Kind::kDown},
      {"[5~", Key::Kind::kPageUp}, {"[6~", Key::Kind::kPageDown}, {"[H", Key::Kind::kHome},  {"OH", Key::Kind::kHome},
      {"[1~", Key::Kind::kHome},   {"[7~", Key::Kind::kHome},     {"[F", Key::Kind::kEnd},   {"OF", Key::Kind::kEnd},
      {"[4~", Key::Kind::kEnd},    {"[8~", Key::Kind::kEnd},      {"OM", Key::Kind::kEnter},
  };
  for (const Known& known : kSequences) {
    if (known.sequence == sequence) return Key{known.kind};
  }
  return std::nullopt;
}

std::optional<Key> plain_key(char byte) {
  if (byte == '\n' || byte == '\r') return Key{Key::Kind::kEnter};
  if (byte == kDelete || byte == '\b') return Key{Key::Kind::kBackspace};
  if (static_cast<unsigned char>(byte) < ' ') return std::nullopt;
  return Key{Key::Kind::kText, byte};
}

std::size_t terminal_height(int fd) {
  winsize size{};
  return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

}  // namespace

std::vector<Key> KeyReader::feed(char byte) {
  std::vector<Key> keys;
  if (pending_.size() == 1 && byte != '[' && byte != 'O') keys = flush();  // Esc, and then another key
  if (byte == kEsc) {
    pending_ = byte;
    return keys;
  }
  if (pending_.empty()) {
    if (const auto key = plain_key(byte)) keys.push_back(*key);
    return keys;
  }
  pending_ += byte;
  const bool whole = pending_.size() > 2 && byte >= '@' && byte <= '~';
  if (!whole) return keys;
  if (const auto key = sequence_key(std::string_view(pending_).substr(1))) keys.push_back(*key);
  pending_.clear();
  return keys;
}

std::vector<Key> KeyReader::flush() {
  const bool alone = pending_.size() == 1;
  pending_.clear();
  return alone ? std::vector<Key>{{Key::Kind::kEscape}} : std::vector<Key>();
}

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
  // A signal that we have not read yet takes effect now.
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
