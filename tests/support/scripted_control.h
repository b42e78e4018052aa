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
  Result<void> revoke(const LockState& /*shown*/, const std::string& /*by*/, TimePoint until) override {
    asked_until.push_back(until);
    if (asking_hangs) clock.advance(until - clock.now());
    return asked;
  }
  void tell(const SessionEvent& event) override {
    told.push_back(event);
    if (on_tell) on_tell(event);
  }

  FakeClock& clock;
  std::optional<TimePoint> stop_at;
  bool who = false;
  Result<void> asked;  ///< the answer to revoke()
  bool asking_hangs = false;
  std::vector<TimePoint> asked_until;
  std::vector<SessionEvent> told;
  std::function<void(const SessionEvent&)> on_tell;
};

}  // namespace dlock::testing
