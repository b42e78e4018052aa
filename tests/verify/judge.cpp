// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "lib/base/human_text.h"
#include "lib/lock/lease.h"
#include "tests/verify/schedule.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// New connections, and what was held back, take that long to arrive.
constexpr Duration kAftermath = 500ms;
/// A dead or stopped waiter whose turn has come is passed over after that (backends/redis/native, parts/wake.lua).
constexpr Duration kPassOver = 6s;

Duration length(const Trouble& trouble, TimePoint to) {
  return std::max(Duration(0), std::min(trouble.until.value_or(to), to) - trouble.from);
}

/// Does it reach into the time from `from` to `to`, `after` its end included?
bool reaches(const Trouble& trouble, TimePoint from, TimePoint to, Duration after) {
  return trouble.from <= to && (!trouble.until || *trouble.until + after >= from);
}

/// The sections that got their lock, by key, in the order in which they did.
std::map<std::string, std::vector<const Section*>> begun_by_key(const VerifyHistory& history) {
  std::map<std::string, std::vector<const Section*>> keys;
  for (const Section& section : history.sections()) {
    if (section.begun) keys[section.key].push_back(&section);
  }
  for (auto& [key, sections] : keys) {
    std::sort(sections.begin(), sections.end(),
              [](const Section* a, const Section* b) { return a->first_line < b->first_line; });
  }
  return keys;
}

/// Whether there was an outage at any time from `from` to `to`. It counts for a moment longer than it lasts.
bool was_outage(const VerifyHistory& history, TimePoint from, TimePoint to) {
  const auto& outages = history.outages();
  return std::any_of(outages.begin(), outages.end(),
                     [&](const Trouble& outage) { return reaches(outage, from, to, kAftermath); });
}

/// Whether `section` was hit in the fair queue and may stand there still at `from`: nobody who asked after that has
/// passed it by.
bool is_dead_in_queue(const VerifyHistory& history, const Section& section, TimePoint from, TimePoint to) {
  if (!section.fair || section.begun.value_or(TimePoint::max()) <= to) return false;
  const TimePoint hit = section.hits.front().from;
  return hit <= to && std::none_of(history.sections().begin(), history.sections().end(), [&](const Section& one) {
           return one.fair && one.key == section.key && one.asked > hit && one.begun.value_or(TimePoint::max()) < from;
         });
}

/// How much longer than usual the lock of `key` may be out of reach from `from` to `to`: for each outage, and each
/// fault of a section of this key but `except`, its length and one lease (that of the section, or else `lease`), and
/// kPassOver for each that was hit in the queue.
Duration allowance(const VerifyHistory& history, const std::string& key, TimePoint from, TimePoint to, Duration lease,
                   const Section* except = nullptr) {
  Duration sum{0};
  for (const Section& section : history.sections()) {
    if (section.hits.empty() || section.key != key || &section == except) continue;
    const Duration own = section.lease.value_or(lease);
    if (is_dead_in_queue(history, section, from, to)) sum += kPassOver;
    for (const Trouble& hit : section.hits) {
      // The dead and the stopped are in the way until a lease after.
      const Trouble whole{hit.what, hit.from, hit.until ? hit.until : section.gone};
      if (reaches(whole, from, to, own)) sum += length(whole, to) + own;
    }
  }
  for (const Trouble& outage : history.outages()) {
    if (reaches(outage, from, to, lease)) sum += length(outage, to) + lease;
  }
  return sum;
}

/// It was stopped as a whole beyond its lease: that it goes on for a moment is what tokens are for.
bool is_excused(const Section& old, const Section& next, const Bounds& bounds) {
  for (const Trouble& hit : old.hits) {
    if (hit.what != "stop-all" || hit.from > *next.begun) continue;
    const bool fenced = old.token.value_or(0) < next.token.value_or(0) || (!old.token && !next.token);
    const TimePoint resumed = hit.until.value_or(old.last);
    const Duration kill_after = default_kill_after(old.lease.value_or(bounds.lease));
    return fenced && old.last <= resumed + kill_after + bounds.slack;
  }
  return false;
}

bool exclude_each_other(const Section& a, const Section& b) {
  return a.mode == Mode::kExclusive || b.mode == Mode::kExclusive;
}

// Of times.

/// A bound of 3 s is exceeded by 3040 ms, which is 3 s as well.
std::string ms_text(Duration length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()) + " ms";
}

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

Breach too_long(const Gap& gap, const std::string& what, Duration bound) {
  return {gap.next->name + " had the lock " + ms_text(gap.length) + " after " + gap.before->name + what +
              ": more than " + ms_text(bound),
          {gap.before->name, gap.next->name},
          gap.before->first_line,
          gap.next->first_line};
}

/// What may end a run otherwise than with 0: something done to itself, or to the server meanwhile.
bool has_an_excuse(const VerifyHistory& history, const Section& section, const Bounds& bounds) {
  if (!section.hits.empty()) return true;
  return was_outage(history, section.asked - bounds.lease, section.gone.value_or(TimePoint::max()));
}

}  // namespace

Judgement check_exclusion(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "one holder at a time", .unit = "holds"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    std::vector<const Section*> open;
    for (const Section* next : sections) {
      judgement.tried += next->mode == Mode::kPermits ? 0 : 1;
      std::erase_if(open, [&](const Section* old) { return old->last_line < next->first_line; });
      for (const Section* old : open) {
        if (!exclude_each_other(*old, *next) || is_excused(*old, *next, bounds)) continue;
        const Duration both = std::min(old->last, next->last) - *next->begun;
        judgement.breaches.push_back(
            {old->name + " and " + next->name + " hold " + key + " at the same time, " + human_duration(both) + " long",
             {old->name, next->name},
             old->first_line,
             std::min(old->last_line, next->last_line)});
      }
      open.push_back(next);
    }
  }
  for (const Section& one : history.sections()) {
    if (one.begins <= 1) continue;
    judgement.breaches.push_back({one.name + " begins twice", {one.name}, one.asked_line, one.first_line});
  }
  return judgement;
}

Judgement check_permits(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = std::to_string(kPermits) + " permits, one for each slot", .unit = "permits"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    std::vector<const Section*> open;
    for (const Section* next : sections) {
      if (next->mode != Mode::kPermits) continue;
      ++judgement.tried;
      std::erase_if(open, [&](const Section* old) {
        return old->last_line < next->first_line || is_excused(*old, *next, bounds);
      });
      open.push_back(next);
      std::set<std::string> slots;
      std::vector<std::string> who;
      for (const Section* one : open) {
        slots.insert(one->slot);
        who.push_back(one->name);
      }
      const bool too_many = open.size() > static_cast<std::size_t>(kPermits);
      if (!too_many && slots.size() == open.size()) continue;
      judgement.breaches.push_back({too_many ? std::to_string(open.size()) + " hold a permit of " + key + " at once"
                                             : next->name + " has the slot of another holder of " + key,
                                    std::move(who), open.front()->first_line, next->first_line});
    }
  }
  return judgement;
}

Judgement check_tokens(const VerifyHistory& history) {
  Judgement judgement{.promise = "tokens grow", .unit = "tokens"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    const Section* highest = nullptr;
    for (const Section* next : sections) {
      if (next->mode != Mode::kExclusive || !next->token) continue;
      ++judgement.tried;
      if (highest && *next->token <= *highest->token) {
        judgement.breaches.push_back(
            {"the token of " + next->name + " is not above the one that " + highest->name + " had before it",
             {highest->name, next->name},
             highest->first_line,
             next->first_line});
      } else {
        highest = next;
      }
    }
  }
  return judgement;
}

Judgement check_order(const VerifyHistory& history) {
  Judgement judgement{.promise = "first come, first served", .unit = "pairs"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    for (auto b = sections.begin(); b != sections.end(); ++b) {
      if (!(*b)->fair) continue;
      for (auto a = sections.begin(); a != sections.end(); ++a) {
        const bool comparable = (*a)->fair && (*a)->queued && exclude_each_other(**a, **b) && (*a)->hits.empty() &&
                                *(*a)->queued<(*b)->asked&&*(*a)->begun>(*b)->asked;
        if (!comparable) continue;
        if (was_outage(history, (*a)->asked, std::min(*(*a)->begun, *(*b)->begun))) continue;
        ++judgement.tried;
        if (a < b) continue;
        judgement.breaches.push_back(
            {(*b)->name + " was served before " + (*a)->name + ", which had been in the queue before it came",
             {(*a)->name, (*b)->name},
             (*a)->asked_line,
             (*a)->first_line});
      }
    }
  }
  return judgement;
}

Judgement check_hand_over(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "a waiter is woken", .unit = "hand-overs"};
  for_each_hand_over(history, [&](const Gap& gap) {
    const Duration limit = wake_limit(gap, bounds, trouble_beside(history, gap, bounds, gap.before->last));
    const bool in_time = gap.length <= limit;
    judgement.tried += !in_time || is_before_lease_end(gap, bounds, limit) ? 1 : 0;
    if (!in_time) judgement.breaches.push_back(too_long(gap, " released it", limit));
  });
  return judgement;
}

Judgement check_recovery(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "the lock of a dead holder is free in time", .unit = "deaths"};
  for_each_recovery(history, [&](const Gap& gap, const Trouble& hit) {
    if (hit.what == "stop-run") return;  // it lives: its lock is kept
    const Duration trouble = trouble_beside(history, gap, bounds, hit.from, gap.before);
    const bool keeper_lives = hit.what == "kill-run";
    const Duration lease = lease_of(gap, bounds);
    const Duration dead = bounds.in_session ? lease * 3 / 2 : lease;
    const Duration own = keeper_lives ? default_kill_after(lease) : dead;
    const Duration limit = own + wake_limit(gap, bounds, trouble);
    const bool in_time = gap.length <= limit;
    const bool can_fail = trouble == Duration(0) && (!keeper_lives || is_before_lease_end(gap, bounds, limit));
    judgement.tried += !in_time || can_fail ? 1 : 0;
    if (!in_time) judgement.breaches.push_back(too_long(gap, " was hit by " + hit.what, limit));
  });
  return judgement;
}

Judgement check_ends(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "nothing is lost without a cause", .unit = "runs"};
  for (const Section& section : history.sections()) {
    ++judgement.tried;
    const bool stuck = !section.hits.empty() && section.hits.back().what == "given-up";
    if (!stuck && (section.how.starts_with("exit 0") || has_an_excuse(history, section, bounds))) continue;
    const std::string what = stuck ? " waited for ever" : " ended with " + section.how + ", and nothing was done to it";
    judgement.breaches.push_back({section.name + what, {section.name}, section.asked_line, history.lines()});
  }
  return judgement;
}

}  // namespace dlock
