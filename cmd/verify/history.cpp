// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr std::string_view kActNames[] = {"ASK", "QUEUED", "BEGIN", "TICK", "TERM", "END", "GONE", "HIT", "HEALED"};

void heal_last(std::vector<Trouble>& troubles, TimePoint at) {
  for (auto trouble = troubles.rbegin(); trouble != troubles.rend(); ++trouble) {
    if (trouble->until) continue;
    trouble->until = at;
    return;
  }
}

Mode mode_of(std::string_view word) {
  return word == "shared" ? Mode::kShared : word == "permits" ? Mode::kPermits : Mode::kExclusive;
}

bool is_of_all(const Act& act) { return act.who == "net" || act.who == "hook" || act.who == "revoke"; }

/// What was asked for besides the lock.
void read_wish(std::string_view words, Section& section) {
  const std::string_view wish = cut(words, ' ');
  if (wish == "replace") section.supersedes = Supersedes::kReplace;
  if (wish == "newest") section.supersedes = Supersedes::kNewest;
  if (wish == "once") section.once = cut(words, ' ');
  if (const auto ms = whole_number<std::int64_t>(words)) section.kept = std::chrono::milliseconds(*ms);
}

std::string after_start(Duration since) {
  char text[32];
  std::snprintf(text, sizeof text, "%+9.3f s  ", std::chrono::duration<double>(since).count());
  return text;
}

}  // namespace

std::string_view act_name(Act::What what) { return kActNames[static_cast<std::size_t>(what)]; }

std::optional<Act> parse_act(std::string_view line) {
  const auto at = whole_number<std::int64_t>(cut(line, ' '));
  const std::string_view who = cut(line, ' ');
  const auto* name = std::find(std::begin(kActNames), std::end(kActNames), cut(line, ' '));
  if (!at || who.empty() || name == std::end(kActNames)) return std::nullopt;
  return Act{TimePoint(Duration(*at)), std::string(who), static_cast<Act::What>(name - kActNames), std::string(line)};
}

std::string act_line(const Act& act) {
  std::string line = std::to_string(act.at.time_since_epoch().count()) + ' ' + act.who + ' ';
  line += act_name(act.what);
  if (!act.words.empty()) line += ' ' + act.words;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line + '\n';
}

bool Section::was_hit(std::string_view what) const {
  return std::any_of(hits.begin(), hits.end(), [&](const Trouble& hit) { return hit.what == what; });
}

const Section* VerifyHistory::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &sections_[found->second];
}

void VerifyHistory::add_line(std::string_view line) {
  const auto act = parse_act(line);
  if (act) add(*act);
  else ++torn_;
}

void VerifyHistory::note_for_all(const Act& act) {
  auto& troubles = act.who == "revoke" ? revocations_ : outages_;
  if (act.what == Act::What::kHit) troubles.push_back({act.words, act.at, {}, act.who == "hook"});
  if (act.what == Act::What::kHealed) heal_last(troubles, act.at);
}

void VerifyHistory::add(const Act& act) {
  acts_.push_back(act);
  if (is_of_all(act)) return note_for_all(act);
  const auto [known, fresh] = by_name_.emplace(act.who, sections_.size());
  if (fresh) sections_.push_back({.name = act.who, .asked = act.at, .asked_line = acts_.size()});
  Section& section = sections_[known->second];
  std::string_view words = act.words;
  const bool under_lock = act.what >= Act::What::kBegin && act.what <= Act::What::kEnd;
  if (under_lock) {
    section.last = act.at;
    section.last_line = acts_.size();
  }
  switch (act.what) {
    case Act::What::kAsk:
      section.key = cut(words, ' ');
      section.mode = mode_of(cut(words, ' '));
      section.fair = cut(words, ' ') == "fair";
      section.proxied = cut(words, ' ') == "proxied";
      if (const auto ms = whole_number<std::int64_t>(cut(words, ' '))) section.lease = std::chrono::milliseconds(*ms);
      read_wish(words, section);
      break;
    case Act::What::kQueued:
      section.queued = act.at;
      break;
    case Act::What::kBegin:
      section.begun = act.at;
      ++section.begins;
      section.first_line = acts_.size();
      section.token = whole_number<std::uint64_t>(cut(words, ' '));
      section.slot = words;
      break;
    case Act::What::kTick:
    case Act::What::kTerm:
      break;
    case Act::What::kEnd:
      section.ended = act.at;
      break;
    case Act::What::kGone:
      section.gone = act.at;
      section.how = words;
      break;
    case Act::What::kHit:
      section.hits.push_back({act.words, act.at});
      break;
    case Act::What::kHealed:
      heal_last(section.hits, act.at);
      break;
  }
}

std::vector<std::string> VerifyHistory::excerpt(const std::vector<std::string>& who, std::size_t from,
                                                std::size_t to) const {
  std::vector<std::string> lines;
  std::optional<TimePoint> start;
  std::map<std::string, std::pair<std::size_t, int>> ticking;  // who: its line, and how often
  const auto end_ticks = [&] {
    for (const auto& [name, ticks] : ticking) {
      if (ticks.second > 1) lines[ticks.first] += " x " + std::to_string(ticks.second);
    }
    ticking.clear();
  };
  for (std::size_t number = std::max<std::size_t>(from, 1); number <= std::min(to, acts_.size()); ++number) {
    const Act& act = acts_[number - 1];
    if (!is_of_all(act) && std::find(who.begin(), who.end(), act.who) == who.end()) continue;
    if (!start) start = act.at;
    if (act.what == Act::What::kTick) {
      const auto [ticks, fresh] = ticking.try_emplace(act.who, lines.size(), 0);
      ++ticks->second.second;
      if (!fresh) continue;
    } else {
      end_ticks();
    }
    lines.push_back(after_start(act.at - *start) + act.who + "  " + std::string(act_name(act.what)) +
                    (act.words.empty() ? "" : " " + act.words));
  }
  end_ticks();
  return lines;
}

HistoryReader::HistoryReader(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

void HistoryReader::read_into(VerifyHistory& history) {
  char block[65536];
  ssize_t size = 0;
  while ((size = read(file_.get(), block, sizeof block)) > 0) {
    rest_.append(block, static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      history.add_line(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
  }
}

}  // namespace dlock
