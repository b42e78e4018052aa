// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <deque>
#include <string>
#include <vector>

#include "cmd/options/arguments.h"
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
  Watch(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out)
      : options_(options),
        backend_(backend),
        runtime_(runtime),
        out_(out),
        view_(backend.store(), options.keys.size() == 1 && !is_pattern(options.keys.front())) {
    view_.resize(size_of(out));
  }

  int run(int input) {
    const ScreenView view{.look = [this] { look(); },
                          .draw = [this] { return draw(); },
                          .press = [this](const Key& key) { return press(key); },
                          .resized = [this] { view_.resize(size_of(out_)); }};
    return watch_screen(options_.interval.value_or(1s), view, runtime_, out_, input);
  }

 private:
  void look() {
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

  std::string draw() {
    const std::string text = view_.draw(runtime_.clock.wall(), out_.look().colour);
    return out_.look().unicode ? text : in_ascii(text);
  }

  Turn press(const Key& key) {
    switch (view_.press(key)) {
      case LockScreen::Act::kNone:
        break;
      case LockScreen::Act::kLeave:
        return Turn::kLeave;
      case LockScreen::Act::kOpened:
        recall();
        break;
      case LockScreen::Act::kAsk:
        ask();
        break;
      case LockScreen::Act::kFree:
        free_asked();
        return Turn::kLook;
    }
    return Turn::kStay;
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
  }

  const Options& options_;
  LockAdmin& backend_;
  const Runtime& runtime_;
  Output& out_;
  LockScreen view_;
  TimePoint recall_at_{};
};

}  // namespace

int watch_locks(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out, int input) {
  return Watch(options, backend, runtime, out).run(input);
}

}  // namespace dlock
