// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>

#include "cmd/show/history_text.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

constexpr std::size_t kMostLanes = 60;
constexpr const char* kLost = "LOST";

/// The holder, without what differs from run to run.
std::string lane_label(const Episode& episode) {
  Participant who = episode.who;
  who.pid = 0;
  who.lease = false;
  return participant_text(who);
}

WallTime end_of(const Episode& episode, WallTime now) { return std::max(episode.ended.value_or(now), episode.begin()); }

/// With the time for which --at-least keeps the lock, as far as that has come.
WallTime end_of_lease(const Episode& episode, WallTime now) {
  return std::max(end_of(episode, now), std::min(episode.kept.value_or(WallTime()), now));
}

std::string detail_of(const Episode& episode) {
  std::string text =
      participant_text(episode.who) + ", token " + episode.who.token.text() + ": " + outcome_text(episode);
  if (!episode.who.reason.empty()) text += "; " + episode.who.reason;
  return text;
}

void draw_wait(Lane& lane, const Episode& episode, WallTime now) {
  const WallTime end = episode.granted.value_or(end_of(episode, now));
  const bool in_vain = !episode.granted;
  if (end <= episode.asked && !in_vain) return;
  std::string label = "waits " + human_duration(end - episode.asked);
  if (in_vain && end - episode.asked < std::chrono::seconds(1)) label.clear();
  lane.spans.push_back({.kind = Span::Kind::kWait,
                        .from = episode.asked,
                        .to = end,
                        .open = in_vain && !episode.ended,
                        .label = label,
                        .detail = detail_of(episode)});
  if (in_vain && episode.ended) {
    const bool busy = episode.end == Episode::End::kBusy;
    lane.marks.push_back({end, busy ? "busy" : outcome_text(episode).substr(0, 24), !busy});
  }
}

void draw_hold(Lane& lane, const Episode& episode, WallTime now) {
  if (!episode.granted) return;
  const WallTime end = end_of(episode, now);
  const WallTime until = std::min(episode.lost_at.value_or(end), end);
  const bool open = episode.end == Episode::End::kHeld || episode.end == Episode::End::kUnseen;
  const std::string failed = episode.exit_code.value_or(0) != 0 ? ", exit " + std::to_string(*episode.exit_code) : "";
  lane.spans.push_back({.kind = Span::Kind::kHold,
                        .from = *episode.granted,
                        .to = until,
                        .open = open,
                        .label = "holds " + human_duration(until - *episode.granted) + failed,
                        .detail = detail_of(episode)});
  if (const WallTime kept = end_of_lease(episode, now); episode.kept && kept > end) {
    lane.spans.push_back({.kind = Span::Kind::kKept,
                          .from = end,
                          .to = kept,
                          .open = kept < *episode.kept,
                          .label = "kept " + human_duration(*episode.kept - end),
                          .detail = detail_of(episode)});
  }
  if (!episode.lost_at) return;
  lane.spans.push_back({.kind = Span::Kind::kLost,
                        .from = until,
                        .to = end,
                        .label = episode.signals.empty() ? kLost : "",
                        .detail = detail_of(episode)});
}

/// The last one says that the lock was lost: a command that obeys at once leaves no room for another word.
void draw_signals(Lane& lane, const Episode& episode) {
  for (const Episode::Sent& sent : episode.signals) {
    std::string label = signal_text(sent.signal);
    if (episode.lost_at && &sent == &episode.signals.back()) label = std::string(kLost) + ", " + label;
    lane.marks.push_back({sent.at, std::move(label), true});
  }
}

struct Filling {
  LaneGroup group;
  std::vector<WallTime> ends;  ///< of what is in each lane
  std::size_t left_out = 0;
};

void place(Filling& filling, const Episode& episode, WallTime now) {
  const std::string label = lane_label(episode);
  auto& lanes = filling.group.lanes;
  std::size_t at = 0;
  while (at < lanes.size() && (lanes[at].label != label || filling.ends[at] > episode.asked)) ++at;
  if (at == kMostLanes) {
    ++filling.left_out;
    return;
  }
  if (at == lanes.size()) {
    lanes.push_back({label});
    filling.ends.push_back(episode.asked);
  }
  draw_wait(lanes[at], episode, now);
  draw_hold(lanes[at], episode, now);
  draw_signals(lanes[at], episode);
  filling.ends[at] = std::max(filling.ends[at], end_of_lease(episode, now));
}

/// Room for the words after the last bar.
std::string period_text(WallTime from, WallTime to) {
  return local_time(from) + " to " + local_time(to) + " " + zone_at(to).name;
}

}  // namespace

Timeline history_picture(const std::vector<Episode>& episodes, WallTime now, std::optional<WallTime> from,
                         std::optional<WallTime> to) {
  std::map<std::string, Filling> keys;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  for (const Episode& episode : episodes) {
    Filling& filling = keys[episode.key];
    filling.group.heading = episode.key;
    place(filling, episode, now);
    first = first ? std::min(*first, episode.asked) : episode.asked;
    last = std::max(last.value_or(episode.asked), end_of_lease(episode, now));
  }
  if (from && first) first = std::max(*first, *from);
  if (to && last) last = std::min(*last, *to);
  Timeline picture;
  picture.title = "dlock history";
  picture.from = first;
  picture.to = last;
  if (first && last) picture.subtitle = period_text(*first, *last);
  if (first) picture.zone_offset = zone_at(*first).ahead;
  for (auto& [key, filling] : keys) {
    if (filling.left_out > 0) {
      filling.group.heading += " (" + std::to_string(filling.left_out) + " more attempts are not drawn)";
    }
    picture.groups.push_back(std::move(filling.group));
  }
  return picture;
}

}  // namespace dlock
