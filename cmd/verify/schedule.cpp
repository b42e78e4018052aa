// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/schedule.h"

#include <algorithm>

#include "cmd/verify/sandbox.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

struct FaultRow {
  Fault fault;
  std::string_view name;
  std::string_view family;
};
constexpr FaultRow kFaultRows[] = {
    {Fault::kKillRun, "kill-run", "kill"},
    {Fault::kKillKeeper, "kill-keeper", "kill"},
    {Fault::kKillBoth, "kill-both", "kill"},
    {Fault::kStopKeeper, "stop-keeper", "stop"},
    {Fault::kStopRun, "stop-run", "stop"},
    {Fault::kStopAll, "stop-all", "stop"},
    {Fault::kCut, "cut", "cut"},
    {Fault::kStall, "stall", "stall"},
    {Fault::kDelay, "delay", "delay"},
    {Fault::kOneWay, "oneway", "oneway"},
    {Fault::kRevoke, "revoke", "revoke"},
    {Fault::kHook, "hook", ""},
};
constexpr bool fault_rows_stand_in_order() {
  for (std::size_t i = 0; i < std::size(kFaultRows); ++i) {
    if (kFaultRows[i].fault != static_cast<Fault>(i)) return false;
  }
  return true;
}
static_assert(fault_rows_stand_in_order());

const FaultRow& row_of(Fault fault) { return kFaultRows[static_cast<std::size_t>(fault)]; }

constexpr std::uint64_t kOneIsLong = 2;  ///< of so many rounds

Duration parts_of(Duration whole, int hundredths) { return whole * hundredths / 100; }

/// One of the runs that are more than a lock, as far as the store can: true.
bool choose_wish(Dice& dice, const Abilities& can, Duration ttl, Order& order) {
  const std::uint64_t wish = dice.below(12);
  const std::uint64_t kind = dice.below(kVerifySlots);
  if (wish == 0 && can.supersede) {
    order.key = "w";
    order.fair = can.fair;
    order.supersedes = kind % 2 == 0 ? Supersedes::kReplace : Supersedes::kNewest;
    order.stubborn = kind / 2 == 0;
    if (dice.below(3) == 0) order.hold = order.long_hold;
  } else if (wish == 1 && can.at_least) {
    order.key = "a";
    order.kept = dice.between(ttl / 10, ttl / 3);
  } else if (wish == 2 && can.once) {
    order.key = "o";
    order.kept = ttl;
    order.slot = std::to_string(kind);
  }
  return !order.key.empty();
}

/// Some are ridden out, some are longer than any lease.
Duration how_long(Fault fault, Dice& dice, Duration ttl) {
  switch (fault) {
    case Fault::kStopKeeper:
    case Fault::kStopAll:
      return dice.below(3) == 0 ? dice.between(parts_of(ttl, 5), parts_of(ttl, 30))
                                : dice.between(parts_of(ttl, 120), parts_of(ttl, 200));
    case Fault::kStopRun:
      return dice.between(parts_of(ttl, 20), parts_of(ttl, 160));
    case Fault::kStall:
    case Fault::kOneWay:
      return dice.below(3) == 0 ? dice.between(parts_of(ttl, 110), parts_of(ttl, 150))
                                : dice.between(parts_of(ttl, 5), parts_of(ttl, 35));
    case Fault::kDelay:
      return dice.between(parts_of(ttl, 20), parts_of(ttl, 60));
    case Fault::kKillRun:
    case Fault::kKillKeeper:
    case Fault::kKillBoth:
    case Fault::kCut:
    case Fault::kRevoke:
    case Fault::kHook:
      return Duration(0);
  }
  return Duration(0);
}

std::int64_t ms_count(Duration length) { return std::chrono::duration_cast<std::chrono::milliseconds>(length).count(); }

/// What the order asks for besides its lock.
std::string wish_words(const Order& order) {
  if (order.supersedes == Supersedes::kReplace) return " replace";
  if (order.supersedes == Supersedes::kNewest) return " newest";
  if (order.kept == Duration(0)) return {};
  return (order.slot.empty() ? " at-least " : " once " + order.slot + ' ') + std::to_string(ms_count(order.kept));
}

}  // namespace

std::string_view fault_name(Fault fault) { return row_of(fault).name; }
std::string_view fault_family(Fault fault) { return row_of(fault).family; }
bool is_of_network(Fault fault) { return fault >= Fault::kCut && fault <= Fault::kOneWay; }

Result<std::vector<Fault>> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  if (text == "none") return faults;
  std::string all;
  for (const FaultRow& row : kFaultRows) {
    if (row.family.empty()) continue;
    if (!all.ends_with(row.family)) all.append(all.empty() ? "" : ", ").append(row.family);
    if (text == "all") faults.push_back(row.fault);
  }
  while (text != "all" && !text.empty()) {
    const std::string_view family = cut(text, ',');
    const std::size_t before = faults.size();
    for (const FaultRow& row : kFaultRows) {
      if (!family.empty() && row.family == family) faults.push_back(row.fault);
    }
    if (faults.size() > before) continue;
    return Error{ErrorCode::kInvalid, "--faults has no '" + std::string(family) + "'",
                 "the faults are " + all + "; with commas in between, or all, or none"};
  }
  return faults;
}

/// splitmix64, a public method: one addition and three xors are enough for what nobody attacks.
std::uint64_t Dice::next() {
  std::uint64_t value = state_ += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Duration Dice::between(Duration least, Duration most) {
  return least + Duration(static_cast<std::int64_t>(below(static_cast<std::uint64_t>((most - least).count()) + 1)));
}

Duration long_ttl(Duration ttl) { return std::max<Duration>(4 * ttl, 8s); }

std::vector<PlannedFault> plan_faults(const SchedulePlan& plan) {
  std::vector<PlannedFault> planned;
  Dice dice(plan.seed);
  Duration at = plan.ttl / 10;
  while (!plan.faults.empty()) {
    at += dice.between(plan.ttl / 10, plan.ttl * 6 / 10);
    PlannedFault next{.at = at, .fault = plan.faults[dice.below(plan.faults.size())]};
    next.lasts = how_long(next.fault, dice, plan.ttl);
    next.target = dice.next();
    next.messages = static_cast<int>(dice.below(8));
    next.requests = dice.below(2) == 0;
    if (at >= plan.duration) break;
    planned.push_back(next);
    if (is_of_network(next.fault)) at += next.lasts;  // one network, one fault at a time
  }
  for (int quarter = 1; plan.hook && quarter <= 3; ++quarter) {
    planned.push_back({.at = plan.duration * quarter / 4, .fault = Fault::kHook});
  }
  std::stable_sort(planned.begin(), planned.end(),
                   [](const PlannedFault& a, const PlannedFault& b) { return a.at < b.at; });
  return planned;
}

Order next_order(Dice& dice, const Abilities& can, Duration ttl) {
  Order order;
  const std::uint64_t key = dice.below(10);
  const std::uint64_t mode = dice.below(3);
  const std::uint64_t length = dice.below(30);
  order.pause = dice.between(Duration(0), 20ms);
  order.long_hold = dice.between(ttl * 7 / 10, ttl * 11 / 10);
  order.hold = length == 0 ? order.long_hold : dice.between(2ms, 50ms);
  order.ttl = dice.below(kOneIsLong) == 0 ? long_ttl(ttl) : ttl;
  if (choose_wish(dice, can, ttl, order)) return order;
  if (key == 9 && can.stock) {
    order.key = "s";
    order.ttl = ttl;
  } else if (key >= 7 && can.permits) {
    order.key = "p";
    order.mode = Mode::kPermits;
  } else if (key >= 3) {
    order.key = "q";
    order.fair = can.fair;
    if (mode == 0 && can.shared) order.mode = Mode::kShared;
  } else {
    order.key = "x";
  }
  return order;
}

std::string ask_words(const Order& order, bool proxied) {
  return order.key + ' ' + mode_name(order.mode) + (order.fair ? " fair" : " any") +
         (proxied ? " proxied " : " direct ") + std::to_string(ms_count(order.ttl)) + wish_words(order);
}

std::vector<std::string> run_words(const Order& order, const std::string& url) {
  std::vector<std::string> words{
      "run",    "--backend",         url, "--ttl", ms_word(order.ttl), "--log-format", "json", "--progress",
      "always", "--connect-timeout", "2s"};
  if (order.fair) words.emplace_back("--fair");
  if (order.mode == Mode::kShared) words.emplace_back("--shared");
  if (order.mode == Mode::kPermits) words.insert(words.end(), {"--permits", std::to_string(kVerifyPermits)});
  if (order.supersedes == Supersedes::kReplace) words.emplace_back("--replace");
  if (order.supersedes == Supersedes::kNewest) words.emplace_back("--newest");
  if (!order.slot.empty()) words.insert(words.end(), {"--once", order.slot, "--remember", ms_word(order.kept)});
  else if (order.kept > Duration(0)) words.insert(words.end(), {"-n", "--at-least", ms_word(order.kept)});
  words.push_back(kVerifyPrefix + order.key);
  return words;
}

bool says_that_it_waits(std::string_view said, bool in_line) {
  if (!in_line) return said.find("\"event\":\"waiting\"") != std::string_view::npos;
  constexpr std::string_view kInLine = " in line";  // "next in line", "3rd in line"; "3 in line" are others
  for (std::size_t at = said.find(kInLine); at != std::string_view::npos; at = said.find(kInLine, at + 1)) {
    if (at > 0 && said[at - 1] >= 'a' && said[at - 1] <= 'z') return true;
  }
  return false;
}

}  // namespace dlock
