// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cmd/show/exit_status.h"
#include "cmd/show/locks.h"
#include "cmd/show/render.h"
#include "cmd/show/screen.h"
#include "cmd/show/watch.h"
#include "lib/base/human_text.h"

namespace dlock {
namespace {

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

int watch_as_stream(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  Seen seen;
  bool warned = false;
  const auto news = [&]() -> Result<std::string> {
    const auto live = look_at_locks(options, backend, runtime.clock);
    if (!live) return live.error();
    if (!live->unreadable.empty() && !warned) runtime.log.warn(unreadable_error(*live, backend).message);
    warned = !live->unreadable.empty();
    const auto changed = changes(live->locks, seen);
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
