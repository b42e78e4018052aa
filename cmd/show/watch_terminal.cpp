// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "cmd/show/exit_status.h"
#include "cmd/show/screen.h"
#include "cmd/show/watch.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

constexpr char kEscape = '\033';

enum class Turn { kLook, kLeave };

struct Next {
  Turn turn = Turn::kLook;
  int signal = 0;  ///< with kLeave: die of this one
};

Next obey_signal(int signal, Output& out) {
  if (signal == SIGWINCH) {
    out.measure();
    return {};
  }
  return {Turn::kLeave, signal == SIGINT ? 0 : signal};  // ^C is the usual way out, not an accident
}

/// Until it is time to look again, or to leave.
Next wait_for_turn(Screen& screen, int& input, Output& out, Clock& clock, TimePoint again) {
  while (clock.now() < again) {
    std::vector<pollfd> fds = {{screen.signals(), POLLIN, 0}, {input, POLLIN, 0}};
    clock.wait(fds, again);
    if (fds[0].revents & POLLIN) {
      if (const auto signal = screen.next_signal()) return obey_signal(*signal, out);
    }
    if (fds[1].revents == 0) continue;
    const auto key = screen.next_key();
    if (key == 'q' || key == 'Q' || key == kEscape) return {Turn::kLeave};
    if (key == '\0' || !key) input = -1;  // no keys will come any more; poll(2) skips a negative descriptor
  }
  return {};
}

}  // namespace

std::string watch_title(const std::string& store, const Runtime& runtime, const Look& look) {
  const std::string time = rfc3339(runtime.clock.wall()).substr(11, 8);
  return painted(elided(store + "  " + time + " UTC  q leaves", look.width), Paint::kDim, look.colour) + "\n\n";
}

int watch_frames(Duration interval, const std::function<std::string()>& frame, const Runtime& runtime, Output& out,
                 int input) {
  Next next;
  bool drawn = true;
  {
    Screen screen(out, input);
    while (drawn && next.turn == Turn::kLook) {
      const TimePoint again = runtime.clock.now() + interval;
      drawn = screen.draw(frame());
      if (drawn) next = wait_for_turn(screen, input, out, runtime.clock, again);
    }
  }
  if (next.signal != 0) raise(next.signal);
  if (drawn) return 0;
  return fail(runtime.log, {ErrorCode::kSystem, "the terminal takes no more output", "is it closed?"});
}

}  // namespace dlock
