// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "lib/keeper/control.h"
#include "tests/support/fake_clock.h"

namespace dlock::testing {

/// A supervisor that says what it is told to, and writes down what it hears.
struct ScriptedControl final : Control {
  explicit ScriptedControl(FakeClock& fake) : clock(fake) {}
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  bool stop_requested() override { return stop_at && clock.now() >= *stop_at; }
  bool take_who() override { return std::exchange(who, false); }
  void tell(const SessionEvent& event) override {
    told.push_back(event);
    if (on_tell) on_tell(event);
  }

  FakeClock& clock;
  std::optional<TimePoint> stop_at;
  bool who = false;
  std::vector<SessionEvent> told;
  std::function<void(const SessionEvent&)> on_tell;
};

}  // namespace dlock::testing
