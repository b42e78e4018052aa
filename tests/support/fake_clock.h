// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "lib/base/clock.h"

namespace dlock::testing {

/// A clock that stands still until somebody waits, and then is where the wait ends: hours in milliseconds. Before it
/// jumps to `until` it asks `next_happening` for the next thing that the scripted world does, and stops there if that
/// is sooner.
class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  WallTime wall() const override {
    return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(since_start()));
  }

  void wait(std::vector<pollfd>& fds, std::optional<TimePoint> until) override {
    ++waits;
    jump(until);
    poll(fds.data(), fds.size(), 0);
  }

  void advance(Duration by) { now_ += by; }
  Duration since_start() const { return now_ - start(); }
  static TimePoint start() { return TimePoint(std::chrono::hours(1000)); }

  std::function<std::optional<TimePoint>()> next_happening;
  std::function<void()> on_stuck;
  int waits = 0;
  bool stuck = false;

 private:
  void jump(std::optional<TimePoint> until) {
    const auto next = next_happening ? next_happening() : std::nullopt;
    const auto to = earlier(until, next);
    if (!to) {
      stuck = true;  // nobody would ever wake it: the test looks at this
      if (on_stuck) on_stuck();
      return;
    }
    if (*to > now_) now_ = *to;
  }

  TimePoint now_ = start();
};

}  // namespace dlock::testing
