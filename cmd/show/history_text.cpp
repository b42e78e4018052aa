// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/history_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "cmd/show/exit_status.h"
#include "cmd/show/render.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/history/moment.h"

namespace dlock {
namespace {

constexpr std::size_t kLongestOutcome = 300;

std::string told(std::optional<Duration> length) { return length ? human_duration(*length) : "-"; }

std::string with_why(std::string word, const std::string& why) {
  return why.empty() ? word : word + ": " + printable(why, kLongestOutcome);
}

std::string end_of_command(const Episode& episode) {
  if (episode.outcome == "overheld") return "ended by --max-hold";
  if (episode.outcome == "exec_failed")
    return "could not be started (" + std::to_string(episode.exit_code.value_or(exit_status(ErrorCode::kSystem))) + ")";
  if (episode.signal) return "died of " + signal_text(*episode.signal);
  if (!episode.exit_code) return episode.outcome == "interrupted" ? "interrupted" : "released";
  return *episode.exit_code == 0 ? "ok" : "exit " + std::to_string(*episode.exit_code);
}

bool was_killed(const Episode& episode) {
  return std::any_of(episode.signals.begin(), episode.signals.end(),
                     [](const Episode::Sent& sent) { return sent.signal == 9; });
}

const char* end_name(Episode::End end) {
  constexpr const char* kNames[] = {"waiting", "held",      "unseen",      "released", "expired", "lost",
                                    "busy",    "withdrawn", "unavailable", "refused",  "unlocked"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Episode::End::kUnlocked) + 1);
  return kNames[static_cast<std::size_t>(end)];
}

/// Lines of cells, each column as wide as its widest cell, the last one as wide as there is room.
template <std::size_t N>
class Table {
 public:
  using Line = std::array<std::string, N>;

  void add(Line line) { lines_.push_back(std::move(line)); }

  /// The first line is the heading if it is `headed`.
  std::string text(const Look& look, bool headed = true) const {
    std::array<std::size_t, N> widths{};
    for (const Line& line : lines_) {
      for (std::size_t i = 0; i < N; ++i) widths[i] = std::max(widths[i], display_width(line[i]));
    }
    std::string out;
    for (const Line& line : lines_) {
      const bool heading = headed && &line == &lines_.front();
      std::string row;
      for (std::size_t i = 0; i + 1 < N; ++i) row += line[i] + std::string(widths[i] - display_width(line[i]) + 2, ' ');
      const bool fits = look.width == 0 || display_width(row + line.back()) <= look.width;
      std::string below;
      if (fits) row += line.back();
      else if (!heading) below = wrapped(line.back(), look.width);
      if (look.width > 0) row = elided(row.substr(0, row.find_last_not_of(' ') + 1), look.width);
      out += (heading ? painted(row, Paint::kDim, look.colour) : row) + '\n' + below;
    }
    return out;
  }

 private:
  /// Lines of whole words, indented, for a cell that has no room beside the others: it is not cut.
  static std::string wrapped(std::string_view text, std::size_t width) {
    const std::string indent(4, ' ');
    std::string out;
    std::string line;
    while (!text.empty()) {
      const std::string word(cut(text, ' '));
      if (!line.empty() && indent.size() + display_width(line + " " + word) > width) {
        out += indent + std::exchange(line, {}) + '\n';
      }
      line += (line.empty() ? "" : " ") + word;
    }
    return line.empty() ? out : out + indent + line + '\n';
  }

  std::vector<Line> lines_;
};

/// Its store is named where the key alone would not say which lock is meant.
std::string lock_text(const LockId& lock, const AllTotals& all) {
  const auto same_key = [&](const auto& other) { return other.first.key == lock.key; };
  const bool one_of_several = std::count_if(all.begin(), all.end(), same_key) > 1;
  return printable(lock.key) + (one_of_several ? " in " + printable(lock.store) : "");
}

std::string longest_text(const Totals& totals) {
  if (!totals.longest.granted) return "";
  return told(totals.longest.held) + ", " + participant_text(totals.longest.who) + ", " +
         local_time(*totals.longest.granted);
}

std::string totals_json(const LockId& lock, const Totals& totals) {
  JsonWriter json("dlock.history.key/1");
  json.field("key", lock.key).field("store", lock.store);
  json.field("grants", totals.grants).field("busy", totals.busy).field("lost", totals.lost);
  json.field("wait_p50_ms", percentile(totals.waits, 50)).field("wait_p95_ms", percentile(totals.waits, 95));
  json.field("hold_p50_ms", percentile(totals.holds, 50)).field("hold_p95_ms", percentile(totals.holds, 95));
  json.field("longest_ms", totals.longest.held);
  return json.end_object().line();
}

constexpr std::size_t kMostLanes = 60;
constexpr const char* kLost = "LOST";

/// The holder, without what differs from run to run.
std::string lane_label(const Episode& episode) {
  Participant who = episode.who;
  who.pid = who.command_pid = 0;
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

void put_episode(JsonWriter& json, const Episode& episode) {
  json.begin_object().field("schema", "dlock.history/1").field("key", episode.key);
  json.field("store", episode.store).field("end", end_name(episode.end)).key("who");
  put_participant(json, episode.who);
  json.field("asked", std::optional(episode.asked)).field("granted", episode.granted);
  json.field("lost", episode.lost_at).field("ended", episode.ended);
  if (episode.kept) json.field("kept_until", episode.kept);
  json.field("waited_ms", episode.waited).field("held_ms", episode.held);
  json.field("exit_code", episode.exit_code).field("signal", episode.signal);
  json.field("why", episode.why);
  json.list("signals", episode.signals, [&](const Episode::Sent& sent) { json.number(sent.signal); }).key("holder");
  if (episode.holder) put_participant(json, *episode.holder);
  else json.null();
  json.end_object();
}

std::string outcome_text(const Episode& episode) {
  const auto held_by = [&] { return episode.holder ? "held by " + participant_text(*episode.holder) : ""; };
  switch (episode.end) {
    case Episode::End::kWaiting:
      return with_why("waits, no end was recorded", held_by());
    case Episode::End::kHeld:
      return "no end was recorded";
    case Episode::End::kUnseen:
      return "its end was not recorded; the next holder had it at " + local_time(*episode.ended);
    case Episode::End::kReleased:
      return end_of_command(episode) + (episode.kept ? ", kept until " + local_time(*episode.kept) : "") +
             (episode.why.empty() ? "" : "; " + printable(episode.why, kLongestOutcome));
    case Episode::End::kExpired:
      return "its ttl ended";
    case Episode::End::kLost:
      return with_why("LOST", episode.why) + (was_killed(episode) ? "; KILL" : "");
    case Episode::End::kBusy:
      return with_why("busy", episode.why.empty() ? held_by() : episode.why);
    case Episode::End::kWithdrawn:
      return "gave up: " + signal_text(episode.signal.value_or(0));
    case Episode::End::kUnavailable:
      return with_why("unavailable", episode.why);
    case Episode::End::kRefused:
      return with_why(episode.outcome == "repeated" ? "not run again" : "refused", episode.why);
    case Episode::End::kUnlocked:
      return "ran WITHOUT the lock";
  }
  return {};
}

void add_attempts(Table<6>& attempts, const std::vector<Episode>& episodes) {
  for (const Episode& episode : episodes) {
    const std::string reason = reason_text(episode.who);
    attempts.add({local_time(episode.begin()), printable(episode.key), participant_text(episode.who),
                  told(episode.waited), told(episode.held),
                  outcome_text(episode) + (reason.empty() ? "" : "  (" + reason + ")")});
  }
}

std::string attempts_text(const std::vector<Episode>& episodes, const Look& look) {
  Table<6> attempts;
  add_attempts(attempts, episodes);
  return attempts.text(look, false);
}

std::string history_text(const std::vector<Episode>& episodes, const AllTotals& totals, const Look& look) {
  Table<6> attempts;
  attempts.add({"when", "key", "who", "waited", "held", "outcome"});
  add_attempts(attempts, episodes);
  Table<9> sums;
  sums.add({"key", "grants", "busy", "lost", "wait p50", "p95", "hold p50", "p95", "longest"});
  for (const auto& [lock, of_lock] : totals) {
    sums.add({lock_text(lock, totals), std::to_string(of_lock.grants), std::to_string(of_lock.busy),
              std::to_string(of_lock.lost), told(percentile(of_lock.waits, 50)), told(percentile(of_lock.waits, 95)),
              told(percentile(of_lock.holds, 50)), told(percentile(of_lock.holds, 95)), longest_text(of_lock)});
  }
  return attempts.text(look) + '\n' + sums.text(look);
}

std::string history_json(const std::vector<Episode>& episodes, const AllTotals& totals) {
  std::string lines;
  for (const Episode& episode : episodes) {
    JsonWriter json;
    put_episode(json, episode);
    lines += json.line();
  }
  for (const auto& [lock, of_lock] : totals) lines += totals_json(lock, of_lock);
  return lines;
}

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
