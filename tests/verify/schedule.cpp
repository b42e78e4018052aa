// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/schedule.h"

#include <algorithm>

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFaultNames[] = {"kill-run", "kill-keeper", "kill-both", "stop-keeper",
                                            "stop-run", "stop-all",    "hook"};

Duration parts_of(Duration whole, int hundredths) { return whole * hundredths / 100; }

Duration between(Dice& dice, Duration least, Duration most) {
  return least + Duration(static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>((most - least).count() + 1)));
}

/// Some are ridden out, some are longer than any lease.
Duration how_long(Fault fault, Dice& dice, Duration ttl) {
  if (!is_stop(fault)) return Duration(0);
  if (fault == Fault::kStopRun) return between(dice, parts_of(ttl, 20), parts_of(ttl, 160));
  return dice() % 3 == 0 ? between(dice, parts_of(ttl, 5), parts_of(ttl, 30))
                         : between(dice, parts_of(ttl, 120), parts_of(ttl, 200));
}

}  // namespace

std::string_view fault_name(Fault fault) { return kFaultNames[static_cast<std::size_t>(fault)]; }

bool is_stop(Fault fault) { return fault_name(fault).starts_with("stop"); }

std::optional<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  for (int i = 0; i < static_cast<int>(Fault::kHook); ++i) {
    const auto fault = static_cast<Fault>(i);
    if (text == "all" || text == (is_stop(fault) ? "stop" : "kill")) faults.push_back(fault);
  }
  return faults.empty() && text != "none" ? std::nullopt : std::optional(faults);
}

std::vector<PlannedFault> plan_faults(const VerifyPlan& plan) {
  std::vector<PlannedFault> planned;
  Dice dice(plan.seed);
  Duration at = plan.ttl / 10;
  while (!plan.faults.empty()) {
    at += between(dice, plan.ttl / 10, plan.ttl * 6 / 10);
    PlannedFault next{.at = at, .fault = plan.faults[dice() % plan.faults.size()]};
    next.lasts = how_long(next.fault, dice, plan.ttl);
    next.target = dice();
    if (at >= plan.duration) break;
    planned.push_back(next);
  }
  for (int quarter = 1; !plan.hook.empty() && quarter <= 3; ++quarter) {
    planned.push_back({.at = plan.duration * quarter / 4, .fault = Fault::kHook});
  }
  std::stable_sort(planned.begin(), planned.end(),
                   [](const PlannedFault& a, const PlannedFault& b) { return a.at < b.at; });
  return planned;
}

Order next_order(Dice& dice, const Abilities& can, Duration ttl) {
  Order order{.key = "x", .hold = dice() % 30 == 0 ? ttl : between(dice, 2ms, 50ms)};
  const std::uint64_t key = dice() % 10;
  if (key >= 7 && can.permits) {
    order.key = "p";
    order.mode = Mode::kPermits;
  } else if (key >= 3) {
    order.key = "q";
    order.fair = can.fair;
    if (can.shared && dice() % 3 == 0) order.mode = Mode::kShared;
  }
  return order;
}

std::string ms_word(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()) + "ms";
}

std::vector<std::string> run_words(const Order& order, Duration ttl) {
  std::vector<std::string> words{
      "run", "--ttl", ms_word(ttl), "--log-format", "json", "--progress", "always", "--connect-timeout", "2s"};
  if (order.fair) words.emplace_back("--fair");
  if (order.mode == Mode::kShared) words.emplace_back("--shared");
  if (order.mode == Mode::kPermits) words.insert(words.end(), {"--permits", std::to_string(kPermits)});
  words.push_back(kKeyPrefix + order.key);
  return words;
}

}  // namespace dlock
