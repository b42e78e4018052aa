// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "lib/base/descriptor_io.h"
#include "tests/support/command_world.h"

namespace watch_test {

using namespace dlock;

namespace {

/// A terminal of 60 columns and 4 lines at which `keys` have been pressed.
struct Terminal : CommandWorld {
  UniqueFd master, slave;
  Terminal() {
    winsize size{};
    size.ws_row = 4;
    size.ws_col = 60;
    int m = -1, s = -1;
    REQUIRE(openpty(&m, &s, nullptr, nullptr, &size) == 0);
    master = UniqueFd(m);
    slave = UniqueFd(s);
    termios quiet{};
    tcgetattr(s, &quiet);
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(s, TCSANOW, &quiet);
  }
  int watch(const char* keys) {
    write_all(master.get(), keys);
    Output screen(slave.get(), {.terminal = true, .width = 60});
    return watch_locks(options, backend, runtime, screen, slave.get());
  }
  std::string shown() { return drain_terminal(master, slave); }
  tcflag_t line_mode() const {
    termios now{};
    tcgetattr(slave.get(), &now);
    return now.c_lflag;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Terminal, "q leaves with 0 and gives the terminal back as it was") {
  backend.hold("deploy/prod", 7).host = "ci-4";
  const tcflag_t before = line_mode();
  sigset_t mask_before, mask_after;
  sigprocmask(SIG_SETMASK, nullptr, &mask_before);
  CHECK(watch("q") == 0);
  sigprocmask(SIG_SETMASK, nullptr, &mask_after);
  CHECK(line_mode() == before);
  CHECK(sigismember(&mask_after, SIGINT) == sigismember(&mask_before, SIGINT));
  const std::string text = shown();
  CHECK(text.starts_with("\033[?1049h"));
  CHECK(text.ends_with("\033[?25h\033[?1049l"));
  CHECK(text.find("> deploy/prod") != std::string::npos);
  CHECK(text.find("ci-4") != std::string::npos);
}

TEST_CASE_FIXTURE(Terminal, "a store that does not answer is shown and looked at again") {
  backend.fails = Error{ErrorCode::kUnavailable, "cannot reach it", ""};
  CHECK(watch("xq") == 0);
  CHECK(shown().find("cannot reach it") != std::string::npos);
}

TEST_CASE_FIXTURE(Terminal, "an interrupt is a way out, not a death") {
  // Blocked before it is sent, so that it is still there when the view begins to look for signals.
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  raise(SIGINT);
  CHECK(watch("") == 0);
  sigset_t pending;
  sigpending(&pending);
  CHECK_FALSE(sigismember(&pending, SIGINT));
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace watch_test
