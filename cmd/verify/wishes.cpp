// SPDX-License-Identifier: Apache-2.0
// What is promised of runs that are more than a lock: --at-least, --once, --replace, --newest; and of revocations.
#include <algorithm>
#include <map>

#include "cmd/verify/checks.h"

namespace dlock {
namespace {

Breach breach_of_two(const VerifyHistory& history, const Section& before, const Section& next, std::string what) {
  const std::size_t last = std::max(next.first_line, next.asked_line);
  return {
      std::move(what), history.excerpt({before.name, next.name}, before.asked_line, last), {before.name, next.name}};
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
        {section.name + " was refused because slot " + section.once + " had run, and it had not",
         history.excerpt({section.name}, section.asked_line, history.lines()),
         {section.name}});
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
