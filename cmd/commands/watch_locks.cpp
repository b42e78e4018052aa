// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "cmd/options/operands.h"
#include "cmd/show/exit_status.h"
#include "cmd/show/lock_screen.h"
#include "cmd/show/locks.h"
#include "cmd/show/screen.h"
#include "lib/base/human_text.h"
#include "lib/history/event.h"
#include "lib/history/event_log.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// The bytes of one key come together; what comes later than this after Esc is another key.
constexpr Duration kRestOfKey = 50ms;
constexpr std::size_t kMostEvents = 200;
/// Reading events takes this part of the time at most: a journal can be slow.
constexpr int kReadingShare = 20;

LockScreen::Size size_of(const Output& out) {
  constexpr std::size_t kColumns = 80, kLines = 24;
  const Look& look = out.look();  // whose height leaves a line to the shell's prompt
  return {look.width > 0 ? look.width : kColumns, look.height > 0 ? look.height + 1 : kLines};
}

std::string told_error(const Error& error) {
  return printable(error.message) + (error.next.empty() ? "" : "\n" + printable(error.next));
}

/// The newest first. Empty: nothing is known.
std::vector<std::string> recent_events(const LockState& lock, const EventPlace& place) {
  if (place.kind == EventPlace::Kind::kOff || place.kind == EventPlace::Kind::kDescriptor) return {};
  std::deque<std::string> events;
  const std::string lead = printable(lock.name.text()) + ": ";
  const auto use = [&](std::string_view line) {
    const ReadLine read = read_event(line);
    if (!read.event || read.event->key != lock.name.text()) return;
    if (!read.event->store.empty() && read.event->store != lock.store) return;
    events.push_front(local_time(read.event->time) + "  " + event_text(*read.event).substr(lead.size()));
    if (events.size() > kMostEvents) events.pop_back();
  };
  if (const auto read = read_events(place, use); !read) return {printable(read.error().message)};
  return {events.begin(), events.end()};
}

class Watch {
 public:
  Watch(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input)
      : options_(options),
        backend_(backend),
        runtime_(runtime),
        out_(out),
        input_(input),
        view_(backend.store(), options.keys.size() == 1 && !is_pattern(options.keys.front())) {
    view_.resize(size_of(out));
  }

  int run() {
    const Duration interval = options_.interval.value_or(1s);
    bool drawn = true;
    {
      Screen screen(out_, input_);
      while (drawn && !left_) {
        const TimePoint again = runtime_.clock.now() + interval;
        look();
        while ((drawn = draw(screen)) && !left_ && !look_now_ && runtime_.clock.now() < again) wait(screen, again);
      }
    }
    if (signal_ != 0) raise(signal_);
    if (drawn) return 0;
    return fail(runtime_.log, {ErrorCode::kSystem, "the terminal takes no more output", "is it closed?"});
  }

 private:
  void look() {
    look_now_ = false;
    auto live = look_at_locks(options_, backend_, runtime_.clock);
    if (!live) return view_.see_nothing(printable(live.error().message));
    std::string trouble = !live->unreadable.empty() ? printable(unreadable_error(*live, backend_).message) : "";
    view_.see(std::move(live->locks), std::move(trouble));
    if (view_.shows_one() && runtime_.clock.now() >= recall_at_) recall();
  }

  void recall() {
    const LockState* lock = view_.lock();
    if (!lock) return;
    const TimePoint begin = runtime_.clock.now();
    view_.recall(recent_events(*lock, options_.events));
    const TimePoint end = runtime_.clock.now();
    recall_at_ = end + (end - begin) * kReadingShare;
  }

  bool draw(Screen& screen) {
    const std::string text = view_.draw(runtime_.clock.wall(), out_.look().colour);
    return screen.draw(out_.look().unicode ? text : in_ascii(text));
  }

  void wait(Screen& screen, TimePoint again) {
    std::vector<pollfd> fds = {{screen.signals(), POLLIN, 0}, {input_, POLLIN, 0}};
    const TimePoint until = keys_.is_open() ? std::min(again, runtime_.clock.now() + kRestOfKey) : again;
    runtime_.clock.wait(fds, until);
    if (fds[0].revents & POLLIN) {
      if (const auto signal = screen.next_signal()) obey_signal(*signal);
    }
    if (fds[1].revents != 0) {
      const auto byte = screen.next_key();
      if (byte == '\0' || !byte) input_ = -1;  // no key will be pressed any more; poll(2) skips it
      else obey(keys_.feed(*byte));
    } else if (runtime_.clock.now() >= until) {
      obey(keys_.flush());
    }
  }

  void obey_signal(int signal) {
    if (signal == SIGWINCH) {
      out_.measure();
      return view_.resize(size_of(out_));
    }
    left_ = true;
    if (signal != SIGINT) signal_ = signal;  // ^C is the usual way out, not an accident
  }

  void obey(const std::vector<Key>& keys) {
    for (const Key& key : keys) {
      switch (view_.press(key)) {
        case LockScreen::Act::kNone:
          break;
        case LockScreen::Act::kLeave:
          left_ = true;
          return;
        case LockScreen::Act::kOpened:
          recall();
          break;
        case LockScreen::Act::kAsk:
          ask();
          break;
        case LockScreen::Act::kFree:
          free_asked();
          break;
      }
    }
  }

  /// The view may be a second old: the question is about the present state.
  void ask() {
    auto now = backend_.inspect(view_.lock()->name);
    if (!now) return view_.tell(told_error(now.error()));
    if (now->holders.empty()) return view_.tell(printable(now->name.text()) + " is already free");
    std::string question = free_question(*now);
    view_.ask(std::move(*now), std::move(question));
  }

  void free_asked() {
    const auto freed = free_if_confirmed(view_.asked(), view_.typed(), options_, backend_, runtime_);
    view_.tell(freed ? *freed : told_error(freed.error()));
    look_now_ = true;
  }

  const Options& options_;
  LockAdmin& backend_;
  const Runtime& runtime_;
  Output& out_;
  int input_;
  LockScreen view_;
  KeyReader keys_;
  TimePoint recall_at_{};
  bool look_now_ = false;
  bool left_ = false;
  int signal_ = 0;
};

}  // namespace

int watch_locks(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input) {
  return Watch(options, backend, runtime, out, input).run();
}

}  // namespace dlock
