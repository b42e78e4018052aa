// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

std::size_t terminal_height(int fd) {
  winsize size{};
  return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/// The last report of each lock, by store and name.
using Seen = std::map<std::pair<std::string, LockName>, std::string>;

/// The locks that look different from what was said last, and those that are gone, as free ones.
std::vector<LockState> changes(const std::vector<LockState>& states, Seen& seen) {
  std::vector<LockState> changed;
  Seen now;
  for (const LockState& state : states) {
    const std::pair key(state.store, state.name);
    const std::string& text = now[key] = inspect_json(state);
    const auto before = seen.find(key);
    if (before == seen.end() || before->second != text) changed.push_back(state);
  }
  for (const auto& [key, text] : seen) {
    if (!now.count(key)) changed.push_back({.name = key.second, .store = key.first, .holders = {}, .waiters = {}});
  }
  std::sort(changed.begin(), changed.end(), [](const LockState& a, const LockState& b) { return a.name < b.name; });
  seen = std::move(now);
  return changed;
}

std::string block(const std::vector<LockState>& changed, const Options& options, WallTime now, const Look& look) {
  if (!options.json) return rfc3339(now) + '\n' + inspect_text(changed, now, look);
  std::string lines;
  for (const LockState& state : changed) lines += inspect_json(state) + '\n';
  return lines;
}

/// Waits until `until`. False if whoever read our output is gone: then nothing that we say is of use.
bool wait_while_read(const Output& out, Clock& clock, TimePoint until) {
  while (clock.now() < until) {
    std::vector<pollfd> fds;
    if (out.fd() >= 0) fds.push_back({out.fd(), 0, 0});
    clock.wait(fds, until);
    if (!fds.empty() && (fds.front().revents & kNobodyReads)) return false;
  }
  return true;
}

/// One watch_screen(): waits for keys, signals and the next look.
class Watching {
 public:
  Watching(Clock& clock, Output& out, int input) : clock_(clock), out_(out), input_(input) {}

  /// False: the terminal takes no more output.
  bool run(Duration interval, const std::function<std::string()>& frame) {
    Screen screen(out_, input_);
    bool drawn = true;
    while (!leaves_ && (drawn = screen.draw(frame()))) {
      const TimePoint again = clock_.now() + interval;
      resized_ = false;
      while (!leaves_ && !resized_ && clock_.now() < again) wait(screen, again);
    }
    return drawn;
  }
  int signal() const { return signal_; }

 private:
  void wait(Screen& screen, TimePoint again) {
    std::vector<pollfd> fds = {{screen.signals(), POLLIN, 0}, {input_, POLLIN, 0}};
    clock_.wait(fds, again);
    if (fds[0].revents & POLLIN) {
      if (const auto signal = screen.next_signal()) obey_signal(*signal);
    }
    if (fds[1].revents == 0) return;
    const auto key = screen.next_key();
    if (key == '\0' || !key) input_ = -1;  // no key will be pressed any more; poll(2) skips it
    else leaves_ = leaves_ || key == 'q' || key == 'Q';
  }

  void obey_signal(int signal) {
    if (signal == SIGWINCH) {
      out_.measure();
      resized_ = true;
      return;
    }
    leaves_ = true;
    if (signal != SIGINT) signal_ = signal;  // ^C is the usual way out, not an accident
  }

  Clock& clock_;
  Output& out_;
  int input_;
  bool leaves_ = false;
  bool resized_ = false;
  int signal_ = 0;
};

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

int watch_as_stream(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  Seen seen;
  bool warned = false;
  const auto news = [&]() -> Result<std::string> {
    TRY_ASSIGN(const auto live, look_at_locks(options, backend, runtime.clock));
    if (!live.unreadable.empty() && !warned) runtime.log.warn(unreadable_error(live, backend).message);
    warned = !live.unreadable.empty();
    const auto changed = changes(live.locks, seen);
    return changed.empty() ? std::string() : block(changed, options, runtime.clock.wall(), out.look());
  };
  return watch_news(options.interval.value_or(std::chrono::seconds(1)), news, runtime, out);
}

int watch_news(Duration interval, const std::function<Result<std::string>()>& news, const Runtime& runtime,
               Output& out) {
  for (;;) {
    const TimePoint again = runtime.clock.now() + interval;
    const auto text = news();
    if (!text) return fail(runtime.log, text.error());
    if (!text->empty()) {
      if (const int status = print(out, runtime.log, *text); status != 0) return status;
    }
    if (!wait_while_read(out, runtime.clock, again)) {
      raise(SIGPIPE);  // as a write would have done; comes back if that is ignored
      return fail(runtime.log, {ErrorCode::kSystem, "stdout has no reader any more"});
    }
  }
}

std::string watch_title(const std::string& store, const Runtime& runtime, const Look& look) {
  const std::string time = rfc3339(runtime.clock.wall()).substr(11, 8);
  return painted(elided(store + "  " + time + " UTC  q quits", look.width), Paint::kDim, look.colour) + "\n\n";
}

int watch_screen(Duration interval, const std::function<std::string()>& frame, const Runtime& runtime, Output& out,
                 int input) {
  Watching watching(runtime.clock, out, input);
  const bool drawn = watching.run(interval, frame);
  if (watching.signal() != 0) raise(watching.signal());
  if (drawn) return 0;
  return fail(runtime.log, {ErrorCode::kSystem, "the terminal takes no more output", "is it closed?"});
}

}  // namespace dlock
