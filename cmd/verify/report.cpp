// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/report.h"

#include <algorithm>
#include <optional>

#include "lib/base/human_text.h"
#include "lib/base/json_writer.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// What is shown before and after a breach.
constexpr Duration kAround = 300ms;

WallTime drawn(TimePoint at) {
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()));
}

/// "x.3.12" -> "3"
std::string worker_of(const Section& section) {
  std::string_view rest = section.name;
  cut(rest, '.');
  return std::string(cut(rest, '.'));
}

std::string key_and_mode(const Section& section) {
  return section.key + (section.mode == Mode::kShared ? " shared" : "");
}

/// "kill-keeper" -> "KILL keeper"
std::string mark_of(std::string_view fault) {
  std::string word(cut(fault, '-'));
  for (char& c : word) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return fault.empty() ? word : word + ' ' + std::string(fault);
}

void draw_section(const Section& section, Lane& lane) {
  const TimePoint end = section.gone.value_or(section.last);
  lane.spans.push_back({.kind = Span::Kind::kWait,
                        .from = drawn(section.asked),
                        .to = drawn(section.begun.value_or(end)),
                        .detail = section.name + " asks for " + key_and_mode(section)});
  if (section.begun) {
    lane.spans.push_back({.kind = Span::Kind::kHold,
                          .from = drawn(*section.begun),
                          .to = drawn(section.last),
                          .open = !section.ended,
                          .label = key_and_mode(section),
                          .detail = section.name + " holds " + key_and_mode(section) +
                                    (section.token ? ", token " + std::to_string(*section.token) : "")});
  }
  for (const Trouble& hit : section.hits) lane.marks.push_back({drawn(hit.from), mark_of(hit.what)});
  if (section.how.starts_with("exit 79")) lane.marks.push_back({drawn(end), "LOST"});
}

Lane lane_of_outages(const VerifyHistory& history) {
  Lane lane{.label = "network, server"};
  for (const Trouble& outage : history.outages()) {
    lane.spans.push_back({.kind = Span::Kind::kLost,
                          .from = drawn(outage.from),
                          .to = drawn(outage.until.value_or(outage.from)),
                          .open = !outage.until,
                          .label = outage.what});
  }
  return lane;
}

/// From when on the last of the breach's sections was under the lock, until the first of them had its last act.
Highlight highlight_of(const VerifyHistory& history, const Judgement& judgement, const Breach& breach) {
  std::optional<TimePoint> from;
  std::optional<TimePoint> to;
  for (const std::string& name : breach.sections) {
    const Section* section = history.find(name);
    if (!section) continue;
    from = std::max(from.value_or(section->begun.value_or(section->asked)), section->begun.value_or(section->asked));
    const TimePoint last = section->begun ? section->last : section->gone.value_or(section->asked);
    to = std::min(to.value_or(last), last);
  }
  const TimePoint begin = from.value_or(TimePoint());
  return {drawn(begin), drawn(std::max(begin + 10ms, to.value_or(begin))), judgement.name + " broken"};
}

constexpr std::size_t kPromiseColumn = 44;
constexpr std::size_t kTriedColumn = 22;
constexpr std::size_t kMostLines = 24;  ///< of one breach's history

std::string padded(std::string text, std::size_t columns) {
  const std::size_t width = display_width(text);
  return text + std::string(width < columns ? columns - width : 1, ' ');
}

std::string fault_counts(const VerifyReport& report) {
  std::string text;
  for (const auto& [fault, count] : report.faults) {
    text += (text.empty() ? "" : ", ") + std::string(fault_name(fault)) + ' ' + std::to_string(count);
  }
  if (text.empty()) text = "none";
  if (report.missed > 0) text += "; " + std::to_string(report.missed) + " found nothing to hit";
  return text;
}

std::string breach_text(const Judgement& judgement, const Look& look) {
  const Breach& first = judgement.breaches.front();
  std::string text =
      painted("BROKEN", Paint::kRed, look.colour) + "  " + judgement.promise + ": " + printable(first.what) + '\n';
  const std::size_t hidden = first.history.size() > kMostLines ? first.history.size() - kMostLines : 0;
  if (hidden > 0) text += "    ... " + std::to_string(hidden) + " earlier lines\n";
  for (std::size_t i = hidden; i < first.history.size(); ++i) text += "    " + printable(first.history[i], 160) + '\n';
  const std::size_t more = judgement.breaches.size() - 1;
  return more > 0 ? text + "    and " + std::to_string(more) + " more\n" : text;
}

}  // namespace

Timeline picture_of(const VerifyHistory& history, const VerifyReport& report) {
  Timeline timeline{
      .title = "dlock verify " + report.store,
      .subtitle = std::string(report.held() ? "held" : "broken") + ", seed " + std::to_string(report.seed),
      .groups = {{.heading = "workers"}},
      .from_zero = true};
  std::map<std::string, Lane> lanes;
  for (const Section& section : history.sections()) {
    Lane& lane = lanes[worker_of(section)];
    lane.label = "worker " + worker_of(section) + (section.proxied ? ", proxied" : "");
    draw_section(section, lane);
  }
  for (auto& [worker, lane] : lanes) timeline.groups.front().lanes.push_back(std::move(lane));
  if (!history.outages().empty()) timeline.groups.push_back({"", {lane_of_outages(history)}});
  for (const Judgement& judgement : report.judgements) {
    if (judgement.breaches.empty() || judgement.breaches.front().sections.empty()) continue;
    const Highlight highlight = highlight_of(history, judgement, judgement.breaches.front());
    timeline.from = std::max(drawn(history.sections().front().asked),
                             highlight.from - std::chrono::duration_cast<std::chrono::microseconds>(kAround));
    timeline.to = highlight.to + std::chrono::duration_cast<std::chrono::microseconds>(kAround);
    timeline.highlights = {highlight};
    break;
  }
  return timeline;
}

bool VerifyReport::held() const {
  return std::all_of(judgements.begin(), judgements.end(), [](const Judgement& one) { return one.breaches.empty(); });
}

std::string verify_text(const VerifyReport& report, const Look& look) {
  std::string text = painted(report.store, Paint::kBold, look.colour) + "  " + human_duration(report.took) + ", " +
                     std::to_string(report.workers) + " workers, ttl " + human_duration(report.ttl) + ", seed " +
                     std::to_string(report.seed) + (report.interrupted ? ", interrupted" : "") + "\n\n";
  for (const Judgement& judgement : report.judgements) {
    const bool broken = !judgement.breaches.empty();
    const std::string answer =
        broken ? painted("BROKEN " + std::to_string(judgement.breaches.size()) + " times", Paint::kRed, look.colour)
        : judgement.tried == 0 ? painted("not seen", Paint::kYellow, look.colour)
                               : painted("held", Paint::kGreen, look.colour);
    text += "  " + padded(judgement.promise, kPromiseColumn) +
            padded(std::to_string(judgement.tried) + ' ' + judgement.unit, kTriedColumn) + answer + '\n';
  }
  for (const std::string& one : report.not_promised) text += "  not promised here: " + one + '\n';
  text += "\nfaults     " + fault_counts(report) + '\n';
  for (const std::string& one : report.not_tried) text += "not tried  " + one + '\n';
  text += "hand-over  " + percentile_text(report.gaps.hand_over) + '\n';
  for (const auto& [what, latencies] : report.gaps.recovery) {
    text += "free after " + padded(what, 12) + percentile_text(latencies) + '\n';
  }
  if (report.torn > 0) text += std::to_string(report.torn) + " lines of the history could not be read\n";
  for (const Judgement& judgement : report.judgements) {
    if (!judgement.breaches.empty()) text += '\n' + breach_text(judgement, look);
  }
  text += '\n' +
          (report.held() && report.interrupted ? painted("held until it was interrupted", Paint::kYellow, look.colour)
           : report.held()                     ? painted("held", Paint::kGreen, look.colour)
                           : painted("broken", Paint::kRed, look.colour) + ": --seed " + std::to_string(report.seed) +
                                 " repeats the schedule") +
          '\n';
  return text;
}

std::string verify_json(const VerifyReport& report) {
  JsonWriter json("dlock.verify/2");
  json.field("store", report.store).field("held", report.held()).field("interrupted", report.interrupted);
  json.field("seed", std::to_string(report.seed)).key("took_ms").whole_ms(report.took);
  json.key("ttl_ms").whole_ms(report.ttl).field("workers", report.workers).key("promises").begin_array();
  for (const Judgement& judgement : report.judgements) {
    json.begin_object().field("promise", judgement.name).field("tried", judgement.tried);
    json.field("broken", judgement.breaches.size()).key("first");
    if (judgement.breaches.empty()) {
      json.null();
    } else {
      const Breach& first = judgement.breaches.front();
      json.begin_object().field("what", first.what).texts("history", first.history).end_object();
    }
    json.end_object();
  }
  json.end_array();
  json.texts("not_promised", report.not_promised).texts("not_tried", report.not_tried);
  json.key("faults").begin_object();
  for (const auto& [fault, count] : report.faults) json.key(fault_name(fault)).number(count);
  json.end_object().field("missed", report.missed).key("hand_over");
  put_latencies(json, report.gaps.hand_over);
  json.key("recovery").begin_object();
  for (const auto& [what, latencies] : report.gaps.recovery) {
    json.key(what);
    put_latencies(json, latencies);
  }
  return json.end_object().end_object().line();
}

}  // namespace dlock
