// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "cmd/verify/checks.h"
#include "cmd/verify/windows.h"

namespace dlock {
namespace {

/// A lock that was free, or should have been, and the waiter that had it next.
struct Gap {
  const Section* before;
  const Section* next;
  Duration length{0};
};

/// A bound of 3 s is exceeded by 3040 ms, which is 3 s as well.
std::string ms_text(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()) + " ms";
}

bool was_waiting(const Section& next, TimePoint at) { return next.queued.value_or(*next.begun) < at; }

/// Calls `use(Gap)` where one exclusive hold follows another one that was given back, to a waiter.
template <typename Use>
void for_each_hand_over(const Chronicle& chronicle, Use use) {
  for (const auto& [key, sections] : begun_by_key(chronicle)) {
    for (std::size_t i = 1; i < sections.size(); ++i) {
      const Section& before = *sections[i - 1];
      const Section& next = *sections[i];
      const bool alone = before.mode == Mode::kExclusive && before.ended && before.hits.empty();
      if (alone && was_waiting(next, before.last)) use(Gap{&before, &next, *next.begun - before.last});
    }
  }
}

/// Calls `use(Gap, hit)` where the holder that was hit held the lock alone, and somebody waited for it.
template <typename Use>
void for_each_recovery(const Chronicle& chronicle, Use use) {
  for (const auto& [key, sections] : begun_by_key(chronicle)) {
    for (std::size_t i = 0; i + 1 < sections.size(); ++i) {
      const Section& dead = *sections[i];
      const Section& next = *sections[i + 1];
      if (dead.mode != Mode::kExclusive || dead.ended || dead.hits.empty()) continue;
      const Trouble& hit = dead.hits.front();
      const bool waited = was_waiting(next, hit.from);
      if (waited && *dead.begun <= hit.from) use(Gap{&dead, &next, *next.begun - hit.from}, hit);
    }
  }
}

bool is_quiet(const Chronicle& chronicle, const Gap& gap, Duration lease) {
  return allowance(chronicle, gap.next->key, gap.before->last, *gap.next->begun, lease) == Duration(0);
}

Breach too_long(const Chronicle& chronicle, const Gap& gap, const std::string& what, Duration bound) {
  const std::vector<std::string> who{gap.before->name, gap.next->name};
  return {gap.next->name + " had the lock " + ms_text(gap.length) + " after " + gap.before->name + what +
              ": more than " + ms_text(bound),
          chronicle.excerpt(who, gap.before->first_line, gap.next->first_line), who};
}

/// What may end a run otherwise than with 0: something done to itself, or to the network or the server meanwhile.
bool has_an_excuse(const Chronicle& chronicle, const Section& section, const Bounds& bounds) {
  if (!section.hits.empty()) return true;
  return was_outage(chronicle, section, section.asked - bounds.lease, section.gone.value_or(TimePoint::max()));
}

}  // namespace

Judgement check_hand_over(const Chronicle& chronicle, const Bounds& bounds) {
  Judgement judgement{.promise = "whoever waits is woken", .name = "hand-over", .unit = "hand-overs"};
  for_each_hand_over(chronicle, [&](const Gap& gap) {
    ++judgement.tried;
    const Duration bound = bounds.wake + bounds.slack +
                           allowance(chronicle, gap.next->key, gap.before->last, *gap.next->begun, bounds.lease);
    if (gap.length <= bound) return;
    judgement.breaches.push_back(too_long(chronicle, gap, " gave it back", bound));
  });
  return judgement;
}

Judgement check_recovery(const Chronicle& chronicle, const Bounds& bounds) {
  Judgement judgement{.promise = "the lock of a dead holder is free in time", .name = "recovery", .unit = "deaths"};
  for_each_recovery(chronicle, [&](const Gap& gap, const Trouble& hit) {
    if (hit.what == "stop-run") return;  // it lives: its lock is kept
    ++judgement.tried;
    const bool keeper_lives = hit.what == "kill-run";
    const Duration own = keeper_lives ? bounds.kill_after : bounds.lease;
    const Duration bound = own + bounds.wake + bounds.slack +
                           allowance(chronicle, gap.next->key, hit.from, *gap.next->begun, bounds.lease, gap.before);
    if (gap.length <= bound) return;
    judgement.breaches.push_back(too_long(chronicle, gap, " was hit by " + hit.what, bound));
  });
  return judgement;
}

Judgement check_ends(const Chronicle& chronicle, const Bounds& bounds) {
  Judgement judgement{.promise = "nothing is lost without a cause", .name = "ends", .unit = "runs"};
  for (const Section& section : chronicle.sections()) {
    ++judgement.tried;
    const std::size_t end = chronicle.lines();
    const bool stuck = section.was_hit("given-up");
    const bool sold_out = section.key == "s" && section.how.starts_with("exit 80");
    if (!stuck && (sold_out || section.how.starts_with("exit 0") || has_an_excuse(chronicle, section, bounds)))
      continue;
    const std::string what = stuck ? " waited for ever" : " ended with " + section.how + ", and nothing was done to it";
    judgement.breaches.push_back(
        {section.name + what, chronicle.excerpt({section.name}, section.asked_line, end), {section.name}});
  }
  return judgement;
}

Gaps measure_gaps(const Chronicle& chronicle, const Bounds& bounds) {
  std::vector<Duration> hand_over;
  std::map<std::string, std::vector<Duration>> recovery;
  for_each_hand_over(chronicle, [&](const Gap& gap) {
    if (is_quiet(chronicle, gap, bounds.lease)) hand_over.push_back(gap.length);
  });
  for_each_recovery(chronicle, [&](const Gap& gap, const Trouble& hit) { recovery[hit.what].push_back(gap.length); });
  Gaps gaps{Latencies(std::move(hand_over)), {}};
  for (auto& [what, lengths] : recovery) gaps.recovery.emplace(what, Latencies(std::move(lengths)));
  return gaps;
}

}  // namespace dlock
