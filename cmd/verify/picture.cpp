// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/picture.h"

#include <algorithm>
#include <map>
#include <optional>

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

}  // namespace dlock
