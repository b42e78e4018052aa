// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <utility>

#include "cmd/verify/checks.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

/// A lock that was free, or should have been, and the waiter that had it next.
struct Gap {
  const Section* before;
  const Section* next;
  Duration length{0};
};

bool was_waiting(const Section& section, TimePoint at) { return section.queued.value_or(*section.begun) < at; }

/// Whether one of `sections`, those of a key from the next holder on, had waited for the lock since before `at`. A
/// newcomer that is served first ends the gap, but does not excuse it.
bool somebody_waited(std::span<const Section* const> sections, TimePoint at) {
  return std::any_of(sections.begin(), sections.end(), [&](const Section* one) {
    return was_waiting(*one, at) && (one == sections.front() || one->hits.empty());
  });
}

/// Calls `use(Gap)` where one exclusive hold follows another one that was given back, to a waiter.
template <typename Use>
void for_each_hand_over(const VerifyHistory& history, Use use) {
  for (const auto& [key, sections] : begun_by_key(history)) {
    for (std::size_t i = 1; i < sections.size(); ++i) {
      const Section& before = *sections[i - 1];
      const Section& next = *sections[i];
      const bool alone = before.mode == Mode::kExclusive && before.ended && before.hits.empty();
      const bool waited = alone && somebody_waited(std::span(sections).subspan(i), before.last);
      if (waited) use(Gap{&before, &next, *next.begun - before.last});
    }
  }
}

/// Calls `use(Gap, hit)` where the holder that was hit held the lock alone, and somebody waited for it.
template <typename Use>
void for_each_recovery(const VerifyHistory& history, Use use) {
  for (const auto& [key, sections] : begun_by_key(history)) {
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

Duration lease_of(const Gap& gap, const Bounds& bounds) { return gap.before->lease.value_or(bounds.lease); }

Duration trouble_beside(const VerifyHistory& history, const Gap& gap, const Bounds& bounds, TimePoint from,
                        const Section* except = nullptr) {
  return allowance(history, gap.next->key, from, *gap.next->begun, lease_of(gap, bounds), except);
}

/// How long a waiter may take to have what has become free.
Duration wake_limit(const Gap& gap, const Bounds& bounds, Duration trouble) {
  if (trouble > Duration(0)) return bounds.wake + bounds.slack + trouble;
  return std::min(bounds.wake, lease_of(gap, bounds) / 3) + bounds.late;
}

/// A lease is renewed once in a third of it: that much of it is left at least when its holder ends, and a lock that is
/// not released is free after that.
bool is_before_lease_end(const Gap& gap, const Bounds& bounds, Duration limit) {
  return limit < lease_of(gap, bounds) * 2 / 3;
}

Breach too_long(const VerifyHistory& history, const Gap& gap, const std::string& what, Duration bound) {
  return breach(history,
                gap.next->name + " had the lock " + ms_text(gap.length) + " after " + gap.before->name + what +
                    ": more than " + ms_text(bound),
                {gap.before->name, gap.next->name}, gap.before->first_line, gap.next->first_line);
}

/// What may end a run otherwise than with 0: something done to itself, or to the network or the server meanwhile.
bool has_an_excuse(const VerifyHistory& history, const Section& section, const Bounds& bounds) {
  if (!section.hits.empty() || was_asked_back(history, section) || gave_way(history, section)) return true;
  return was_outage(history, section, section.asked - bounds.lease, section.gone.value_or(TimePoint::max()));
}

}  // namespace

std::string ms_text(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()) + " ms";
}

Judgement check_hand_over(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "a waiter is woken", .name = "hand-over", .unit = "hand-overs"};
  for_each_hand_over(history, [&](const Gap& gap) {
    const Duration limit = wake_limit(gap, bounds, trouble_beside(history, gap, bounds, gap.before->last));
    const bool in_time = gap.length <= limit;
    judgement.tried += !in_time || is_before_lease_end(gap, bounds, limit) ? 1 : 0;
    if (!in_time) judgement.breaches.push_back(too_long(history, gap, " released it", limit));
  });
  return judgement;
}

Judgement check_recovery(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "the lock of a dead holder is free in time", .name = "recovery", .unit = "deaths"};
  for_each_recovery(history, [&](const Gap& gap, const Trouble& hit) {
    if (hit.what == "stop-run") return;  // it lives: its lock is kept
    const Duration trouble = trouble_beside(history, gap, bounds, hit.from, gap.before);
    const bool keeper_lives = hit.what == "kill-run";
    const Duration own = keeper_lives ? default_kill_after(lease_of(gap, bounds)) : lease_of(gap, bounds);
    const Duration limit = own + wake_limit(gap, bounds, trouble);
    const bool in_time = gap.length <= limit;
    const bool can_fail = trouble == Duration(0) && (!keeper_lives || is_before_lease_end(gap, bounds, limit));
    judgement.tried += !in_time || can_fail ? 1 : 0;
    if (!in_time) judgement.breaches.push_back(too_long(history, gap, " was hit by " + hit.what, limit));
  });
  return judgement;
}

Judgement check_ends(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "nothing is lost without a cause", .name = "ends", .unit = "runs"};
  for (const Section& section : history.sections()) {
    ++judgement.tried;
    const bool stuck = section.was_hit("given-up");
    const bool sold_out = section.key == "s" && section.how.starts_with("exit 80");
    if (!stuck && (sold_out || section.how.starts_with("exit 0") || has_an_excuse(history, section, bounds))) continue;
    const std::string what = stuck ? " waited for ever" : " ended with " + section.how + ", and nothing was done to it";
    judgement.breaches.push_back(
        breach(history, section.name + what, {section.name}, section.asked_line, history.lines()));
  }
  return judgement;
}

Gaps measure_gaps(const VerifyHistory& history, const Bounds& bounds) {
  std::vector<Duration> hand_over;
  std::map<std::string, std::vector<Duration>> recovery;
  for_each_hand_over(history, [&](const Gap& gap) {
    if (trouble_beside(history, gap, bounds, gap.before->last) == Duration(0)) hand_over.push_back(gap.length);
  });
  for_each_recovery(history, [&](const Gap& gap, const Trouble& hit) { recovery[hit.what].push_back(gap.length); });
  Gaps gaps{Latencies(std::move(hand_over)), {}};
  for (auto& [what, lengths] : recovery) gaps.recovery.emplace(what, Latencies(std::move(lengths)));
  return gaps;
}

}  // namespace dlock
