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
#include "lib/stock/segment_locks.h"
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

/// Those that the client of the stock holds itself. The shelf says what there is; `taken` are somebody else's.
class OwnLocks final : public SegmentLocks {
 public:
  OwnLocks(Segments& segments, MemoryShelf& shelf, MemoryStock& stock)
      : segments_(segments), shelf_(shelf), stock_(stock) {}

  Result<std::optional<Choice>> lock_one(const StockRequest& request, int start, Duration /*ttl*/,
                                         const CallLimit& /*limit*/) override {
    std::optional<Choice> choice;
    const int count = static_cast<int>(shelf_.have.size());
    for (int i = 0; i < count; ++i) {
      const int segment = (start + i) % count;
      if (shelf_.have[static_cast<std::size_t>(segment)] < request.quantity) continue;
      const bool free = !segments_.taken.count(name_of(segment));
      if (!choice || free) choice = Choice{segment, nullptr};
      if (!free) continue;
      choice->lock = held_at(segment);
      if (segments_.lease) choice->lease = {{}, segments_.clock->now() + *segments_.lease, *segments_.lease};
      break;
    }
    return choice;
  }
  std::unique_ptr<LockDriver> open(int /*segment*/, const LockSpec& spec) override {
    return std::make_unique<SegmentLock>(segments_, spec);
  }
  Result<std::optional<StockAnswer>> reserve_at_once(const StockRequest& request, const Owner& owner, Duration ttl,
                                                     int segment, TimePoint until, const CallLimit& limit) override {
    ++queued;
    if (segments_.taken.count(name_of(segment))) shelf_.clock.wait(nothing_, until);
    if (segments_.taken.count(name_of(segment))) return std::optional<StockAnswer>(StockInProgress{});
    if (two_steps) return std::optional<StockAnswer>();
    at_once_ = segment;
    auto answer = stock_.reserve(request, owner, ttl, segment, limit);
    if (!answer) return answer.error();
    return std::optional(*answer);
  }
  std::unique_ptr<LockDriver> held() override { return held_at(at_once_); }

  int queued = 0;
  bool two_steps = false;

 private:
  static std::string name_of(int segment) { return "stock:phone:" + std::to_string(segment); }
  std::unique_ptr<LockDriver> held_at(int segment) {
    const LockSpec spec{
        .name = *LockName::parse(name_of(segment)), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
    segments_.ours.insert(spec.name.text());
    return std::make_unique<SegmentLock>(segments_, spec);
  }

  Segments& segments_;
  MemoryShelf& shelf_;
  MemoryStock& stock_;
  int at_once_ = 0;
  std::vector<pollfd> nothing_;
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
    auto stock = std::make_unique<MemoryStock>(shelf);
    if (has_own_locks) {
      own = std::make_unique<OwnLocks>(segments, shelf, *stock);
      own->two_steps = in_two_steps;
      stock->own_locks = own.get();
    }
    return StockHold(std::move(stock), spec, open, {clock, log});
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
  bool has_own_locks = false;
  bool in_two_steps = false;
  std::unique_ptr<OwnLocks> own;
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
