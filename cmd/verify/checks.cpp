// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/checks.h"

#include <algorithm>
#include <set>

#include "lib/base/human_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// New connections, and what was held back, take that long to arrive.
constexpr Duration kAftermath = 500ms;

Duration length(const Trouble& trouble, TimePoint to) {
  return std::max(Duration(0), std::min(trouble.until.value_or(to), to) - trouble.from);
}

/// Does it reach into the time from `from` to `to`, `after` its end included?
bool reaches(const Trouble& trouble, TimePoint from, TimePoint to, Duration after) {
  return trouble.from <= to && (!trouble.until || *trouble.until + after >= from);
}

/// It was stopped as a whole beyond its lease: that it goes on for a moment is what tokens are for.
bool is_excused(const Section& old, const Section& next, const Bounds& bounds) {
  for (const Trouble& hit : old.hits) {
    if (hit.what != "stop-all" || hit.from > *next.begun) continue;
    const bool fenced = old.token && next.token && *old.token < *next.token;
    const TimePoint resumed = hit.until.value_or(old.last);
    const Duration kill_after = default_kill_after(old.lease.value_or(bounds.lease));
    return fenced && old.last <= resumed + kill_after + bounds.slack;
  }
  return false;
}

bool exclude_each_other(const Section& a, const Section& b) {
  return a.mode == Mode::kExclusive || b.mode == Mode::kExclusive;
}

/// Two that hold what only one of them can hold. `among`: is the promise about these two?
template <typename Among>
void find_overlaps(const VerifyHistory& history, const Bounds& bounds, Among among, Judgement& judgement) {
  for (const auto& [key, sections] : begun_by_key(history)) {
    std::vector<const Section*> open;
    for (const Section* next : sections) {
      std::erase_if(open, [&](const Section* old) { return old->last_line < next->first_line; });
      for (const Section* old : open) {
        if (!exclude_each_other(*old, *next) || !among(*old, *next) || is_excused(*old, *next, bounds)) continue;
        judgement.breaches.push_back(
            breach(history,
                   old->name + " and " + next->name + " hold " + key + " at the same time, " +
                       human_duration(std::min(old->last, next->last) - *next->begun) + " long",
                   {old->name, next->name}, old->first_line, std::min(old->last_line, next->last_line)));
      }
      open.push_back(next);
    }
  }
}

bool is_shared(const Section& section) { return section.mode == Mode::kShared; }

// Of runs that are more than a lock: --at-least, --once, --replace, --newest; and of revocations.

Breach breach_of_two(const VerifyHistory& history, const Section& before, const Section& next, std::string what) {
  return breach(history, std::move(what), {before.name, next.name}, before.asked_line,
                std::max(next.first_line, next.asked_line));
}

bool had_outage(const VerifyHistory& history, const Section& section) {
  return was_outage(history, section, section.asked, section.gone.value_or(TimePoint::max()));
}

bool ended_well(const Section& section) { return section.how.starts_with("exit 0"); }

/// The keeper, or the store, keeps the lock of what is killed. Otherwise a run that did not end well has lost it.
bool keeps(const Section& section) {
  const bool killed = !section.hits.empty() &&
                      std::all_of(section.hits.begin(), section.hits.end(),
                                  [](const auto& hit) { return hit.what == "kill-run" || hit.what == "kill-both"; });
  return section.kept > Duration(0) && section.once.empty() && (ended_well(section) || killed);
}

/// Whether `other` asks for the same lock while `section` does, or has it.
bool comes_beside(const Section& other, const Section& section) {
  return &other != &section && other.key == section.key && other.asked <= section.gone.value_or(TimePoint::max()) &&
         other.gone.value_or(TimePoint::max()) >= section.asked;
}

bool comes_another(const VerifyHistory& history, const Section& section, Supersedes kind) {
  return std::any_of(history.sections().begin(), history.sections().end(),
                     [&](const Section& other) { return other.supersedes == kind && comes_beside(other, section); });
}

/// Has waited for `least` in the queue, behind `section`, when that begins.
bool supersedes(const Section& other, const Section& section, Duration least) {
  const TimePoint begun = *section.begun;
  return comes_beside(other, section) && other.supersedes == section.supersedes && other.hits.empty() &&
         section.queued && other.queued && *section.queued < other.asked && *other.queued + least < begun &&
         other.begun.value_or(TimePoint::max()) > begun && other.gone.value_or(TimePoint::max()) > begun;
}

}  // namespace

Breach breach(const VerifyHistory& history, std::string what, std::vector<std::string> who, std::size_t from,
              std::size_t to) {
  return {std::move(what), history.excerpt(who, from, to), std::move(who)};
}

std::map<std::string, std::vector<const Section*>> begun_by_key(const VerifyHistory& history) {
  std::map<std::string, std::vector<const Section*>> keys;
  for (const Section& section : history.sections()) {
    if (section.begun && section.key != "s") keys[section.key].push_back(&section);
  }
  for (auto& [key, sections] : keys) {
    std::sort(sections.begin(), sections.end(),
              [](const Section* a, const Section* b) { return a->first_line < b->first_line; });
  }
  return keys;
}

bool was_outage(const VerifyHistory& history, const Section& section, TimePoint from, TimePoint to) {
  const auto& outages = history.outages();
  return std::any_of(outages.begin(), outages.end(), [&](const Trouble& outage) {
    return (section.proxied || outage.of_server) && reaches(outage, from, to, kAftermath);
  });
}

Duration allowance(const VerifyHistory& history, const std::string& key, TimePoint from, TimePoint to, Duration lease,
                   const Section* except) {
  Duration sum{0};
  for (const Section& section : history.sections()) {
    if (section.hits.empty() || section.key != key || &section == except) continue;
    const Duration own = section.lease.value_or(lease);
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

Judgement check_exclusion(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "one holder at a time", .name = "exclusion", .unit = "holds"};
  find_overlaps(
      history, bounds, [](const Section& a, const Section& b) { return !is_shared(a) && !is_shared(b); }, judgement);
  for (const Section& section : history.sections()) {
    judgement.tried += section.begun && section.mode == Mode::kExclusive && section.key != "s" ? 1 : 0;
    if (section.begins <= 1) continue;
    judgement.breaches.push_back(
        breach(history, section.name + " begins twice", {section.name}, section.asked_line, section.first_line));
  }
  return judgement;
}

Judgement check_sharing(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "shared beside shared only", .name = "sharing", .unit = "shared holds"};
  find_overlaps(
      history, bounds, [](const Section& a, const Section& b) { return is_shared(a) || is_shared(b); }, judgement);
  for (const Section& section : history.sections()) judgement.tried += section.begun && is_shared(section) ? 1 : 0;
  return judgement;
}

Judgement check_permits(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{
      .promise = std::to_string(bounds.permits) + " permits, one for each slot", .name = "permits", .unit = "permits"};
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
      const bool too_many = open.size() > static_cast<std::size_t>(bounds.permits);
      if (!too_many && slots.size() == open.size()) continue;
      judgement.breaches.push_back(breach(history,
                                          too_many
                                              ? std::to_string(open.size()) + " hold a permit of " + key + " at once"
                                              : next->name + " has the slot of another holder of " + key,
                                          std::move(who), open.front()->first_line, next->first_line));
    }
  }
  return judgement;
}

Judgement check_tokens(const VerifyHistory& history) {
  Judgement judgement{.promise = "tokens grow", .name = "tokens", .unit = "tokens"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    const Section* highest = nullptr;
    for (const Section* next : sections) {
      if (next->mode != Mode::kExclusive || !next->token) continue;
      ++judgement.tried;
      if (highest && *next->token <= *highest->token) {
        judgement.breaches.push_back(breach(
            history, "the token of " + next->name + " is not above the one that " + highest->name + " had before it",
            {highest->name, next->name}, highest->first_line, next->first_line));
      } else {
        highest = next;
      }
    }
  }
  return judgement;
}

Judgement check_order(const VerifyHistory& history) {
  Judgement judgement{.promise = "first come, first served", .name = "order", .unit = "pairs"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    for (auto b = sections.begin(); b != sections.end(); ++b) {
      if (!(*b)->fair) continue;
      for (auto a = sections.begin(); a != sections.end(); ++a) {
        const bool comparable = (*a)->fair && (*a)->queued && exclude_each_other(**a, **b) && (*a)->hits.empty() &&
                                *(*a)->queued<(*b)->asked&&*(*a)->begun>(*b)->asked;
        if (!comparable) continue;
        if (was_outage(history, **a, (*a)->asked, std::min(*(*a)->begun, *(*b)->begun))) continue;
        ++judgement.tried;
        if (a < b) continue;
        judgement.breaches.push_back(breach(
            history, (*b)->name + " was served before " + (*a)->name + ", which had been in the queue before it came",
            {(*a)->name, (*b)->name}, (*a)->asked_line, (*a)->first_line));
      }
    }
  }
  return judgement;
}

bool was_asked_back(const VerifyHistory& history, const Section& section) {
  const bool lost = section.how.starts_with("exit 79");
  // Of two that replace the status is that of a wait that was given up.
  if (!lost && (!section.how.starts_with("exit 75") || section.supersedes != Supersedes::kReplace)) return false;
  const auto is_of_it = [&](const Trouble& one) {
    return one.what == section.key && one.from <= section.gone && (!one.until || *one.until >= section.asked);
  };
  const auto& revocations = history.revocations();
  return comes_another(history, section, Supersedes::kReplace) ||
         (lost && std::any_of(revocations.begin(), revocations.end(), is_of_it));
}

bool gave_way(const VerifyHistory& history, const Section& section) {
  if (section.begun || !section.how.starts_with("exit 75")) return false;
  const bool tries_once = section.kept > Duration(0) && section.once.empty();
  return tries_once ||
         (section.supersedes != Supersedes::kNothing && comes_another(history, section, section.supersedes));
}

Judgement check_kept(const VerifyHistory& history) {
  Judgement judgement{.promise = "kept for --at-least", .name = "at-least", .unit = "holds"};
  for (const auto& [key, sections] : begun_by_key(history)) {
    const Section* before = nullptr;
    TimePoint free{};
    for (const Section* next : sections) {
      if (next->kept == Duration(0) || !next->once.empty()) continue;
      judgement.tried += keeps(*next) ? 1 : 0;
      if (before && *next->begun < free && !had_outage(history, *before)) {
        judgement.breaches.push_back(breach_of_two(history, *before, *next,
                                                   next->name + " begins " + ms_text(free - *next->begun) + " before " +
                                                       before->name + ", whose run keeps " + key + " for " +
                                                       ms_text(before->kept) + ", has had it for that long"));
      }
      before = next;
      free = keeps(*next) ? std::max(next->asked, free) + next->kept : next->last;
    }
  }
  return judgement;
}

Judgement check_slots(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "one success for each slot of --once", .name = "once", .unit = "runs"};
  std::map<std::string, const Section*> success;
  for (const auto& [key, sections] : begun_by_key(history)) {
    for (const Section* next : sections) {
      if (next->once.empty()) continue;
      const Section*& before = success[next->once];
      if (before && *next->begun < *before->ended + before->kept) {
        judgement.breaches.push_back(breach_of_two(history, *before, *next,
                                                   next->name + " runs slot " + next->once + " again, as " +
                                                       before->name + " did " + ms_text(*next->begun - *before->ended) +
                                                       " before"));
      }
      const bool clean = next->hits.empty() && !had_outage(history, *next);
      if (next->ended && ended_well(*next) && clean) before = next;
    }
  }
  for (const Section& section : history.sections()) {
    if (section.once.empty() || !section.gone) continue;
    ++judgement.tried;
    if (section.begun || !ended_well(section)) continue;
    const auto& all = history.sections();
    const bool has_run = std::any_of(all.begin(), all.end(), [&](const Section& other) {
      return other.once == section.once && other.ended &&
             *other.ended<*section.gone&& * other.ended + other.kept + bounds.slack + 2 * bounds.lease> section.asked;
    });
    if (has_run) continue;
    judgement.breaches.push_back(
        breach(history, section.name + " was refused because slot " + section.once + " had run, and it had not",
               {section.name}, section.asked_line, history.lines()));
  }
  return judgement;
}

Judgement check_succession(const VerifyHistory& history, const Bounds& bounds) {
  Judgement judgement{.promise = "a superseded run does not start", .name = "succession", .unit = "superseded"};
  for (const Section& section : history.sections()) {
    if (section.supersedes == Supersedes::kNothing) continue;
    judgement.tried += gave_way(history, section) ? 1 : 0;
    if (!section.begun || !section.hits.empty() || had_outage(history, section)) continue;
    const auto& all = history.sections();
    const auto later = std::find_if(all.begin(), all.end(), [&](const Section& other) {
      return supersedes(other, section, bounds.wake + bounds.late);
    });
    if (later == all.end() || had_outage(history, *later)) continue;
    ++judgement.tried;
    judgement.breaches.push_back(breach_of_two(history, section, *later,
                                               section.name + " begins, though " + later->name +
                                                   " supersedes it since " + ms_text(*section.begun - *later->queued)));
  }
  return judgement;
}

}  // namespace dlock
