// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/log.h"
#include "lib/stock/stock_hold.h"
#include "tests/support/memory_stock.h"
#include "tests/support/scripted_control.h"

namespace dlock::testing {

/// Locks of segments: those in `taken` are somebody else's.
struct Segments {
  std::set<std::string> taken;
  std::set<std::string> ours;
  std::vector<std::string> tried;
  bool lost = false;
  std::map<std::string, TimePoint> lost_from = {};  ///< one of them, from then on
  std::optional<Duration> lease = {};               ///< how long a lock is held after each renewal; none: no deadline
  std::set<std::string> overdue = {};               ///< ours that were not renewed in time
  FakeClock* clock = nullptr;                       ///< needed for these
  FakeClock* silent = nullptr;                      ///< then no release is answered in its time
};

class SegmentLock final : public LockDriver {
 public:
  SegmentLock(Segments& segments, LockSpec spec) : segments_(segments), spec_(std::move(spec)) {}
  std::optional<std::variant<Granted, Refused>> acquire(Control& /*control*/) override {
    const std::string name = spec_.name.text();
    segments_.tried.push_back(name);
    std::vector<pollfd> nothing;
    while (segments_.lease && segments_.taken.count(name) && spec_.wait.until &&
           segments_.clock->now() < *spec_.wait.until) {
      segments_.clock->wait(nothing, spec_.wait.until);
    }
    if (segments_.taken.count(name)) return Refused{{ErrorCode::kBusy, "busy"}, std::nullopt};
    segments_.ours.insert(name);
    return Granted{{HeldLock{spec_.name, spec_.owner, FencingToken(1), "memory:"}},
                   extend(),
                   segments_.lease.value_or(Duration(0))};
  }
  Renewal renew(Control& /*control*/, TimePoint /*until*/) override {
    auto answer = held({});
    if (!segments_.lease || std::holds_alternative<RenewalLost>(answer)) return answer;
    if (segments_.clock->now() >= deadline_) segments_.overdue.insert(spec_.name.text());
    return RenewalRenewed{*extend()};
  }
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  Renewal held(TimePoint /*now*/) override {
    const auto gone = segments_.lost_from.find(spec_.name.text());
    const bool lost = segments_.lost || (gone != segments_.lost_from.end() && segments_.clock->now() >= gone->second);
    return lost ? Renewal(RenewalLost{"taken away"}) : Renewal(RenewalHeld{});
  }
  Result<void> release(TimePoint until) override {
    if (segments_.lease && segments_.clock->now() >= deadline_) segments_.overdue.insert(spec_.name.text());
    segments_.ours.erase(spec_.name.text());
    if (segments_.silent) segments_.silent->advance(until - segments_.silent->now());
    return {};
  }
  Result<void> leave(const LeaveSpec& /*spec*/, TimePoint until) override { return release(until); }

 private:
  std::optional<TimePoint> extend() {
    if (!segments_.lease) return std::nullopt;
    return deadline_ = segments_.clock->now() + *segments_.lease;
  }

  Segments& segments_;
  const LockSpec spec_;
  TimePoint deadline_{};
};

/// A stock "phone" in memory, and who takes from it under the id "order".
struct StockHoldWorld {
  explicit StockHoldWorld(std::vector<Quantity> have) : shelf(clock, std::move(have)) { segments.clock = &clock; }

  StockHold hold(Quantity quantity, bool lock_segment = false) {
    LockSpec spec = wish;
    spec.stock = StockClaim{*LockName::parse("order"), quantity, lock_segment};
    const auto open = [this](const LockSpec& segment) -> Result<std::unique_ptr<LockDriver>> {
      return std::unique_ptr<LockDriver>(std::make_unique<SegmentLock>(segments, segment));
    };
    return StockHold(std::make_unique<MemoryStock>(shelf), spec, open, {clock, log});
  }

  Quantity there() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.have) sum += one;
    return sum;
  }
  Quantity aside() const {
    Quantity sum = 0;
    for (const Quantity one : shelf.aside) sum += one;
    return sum;
  }
  TimePoint soon() const { return clock.now() + std::chrono::seconds(5); }

  FakeClock clock;
  Log log{Log::Style{.quiet = true}};
  MemoryShelf shelf;
  Segments segments;
  ScriptedControl control{clock};
  LockSpec wish{.name = *LockName::parse("phone"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
};

inline Granted granted(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Granted>(*answer));
  return std::get<Granted>(*answer);
}

inline Error refused(const std::optional<std::variant<Granted, Refused>>& answer) {
  REQUIRE(answer);
  REQUIRE(std::holds_alternative<Refused>(*answer));
  return std::get<Refused>(*answer).error;
}

}  // namespace dlock::testing
