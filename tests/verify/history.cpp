// SPDX-License-Identifier: Apache-2.0
#include "tests/verify/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

std::optional<Act> parse_act(std::string_view line) {
  const auto at = whole_number<std::int64_t>(cut(line, ' '));
  const std::string_view who = cut(line, ' ');
  const auto* name = std::find(std::begin(kActNames), std::end(kActNames), cut(line, ' '));
  if (!at || who.empty() || name == std::end(kActNames)) return std::nullopt;
  return Act{TimePoint(Duration(*at)), std::string(who), static_cast<Act::What>(name - kActNames), std::string(line)};
}

std::string act_line(const Act& act) {
  std::string line = std::to_string(act.at.time_since_epoch().count()) + ' ' + act.who + ' ';
  line += kActNames[static_cast<std::size_t>(act.what)];
  if (!act.words.empty()) line += ' ' + act.words;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line + '\n';
}

const Section* VerifyHistory::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &sections_[found->second];
}

void VerifyHistory::add_line(std::string_view line) {
  ++lines_;
  if (const auto act = parse_act(line)) add(*act);
  else ++torn_;
}

void VerifyHistory::add(const Act& act) {
  if (act.who == "hook") {
    if (act.what == Act::What::kHit) outages_.push_back({act.words, act.at});
    if (act.what == Act::What::kHealed) heal_last(outages_, act.at);
    return;
  }
  const auto [known, fresh] = by_name_.emplace(act.who, sections_.size());
  if (fresh) sections_.push_back({.name = act.who, .asked = act.at, .asked_line = lines_});
  Section& section = sections_[known->second];
  std::string_view words = act.words;
  const bool under_lock = act.what >= Act::What::kBegin && act.what <= Act::What::kEnd;
  if (under_lock) {
    section.last = act.at;
    section.last_line = lines_;
  }
  switch (act.what) {
    case Act::What::kAsk:
      section.key = cut(words, ' ');
      section.mode = mode_of(cut(words, ' '));
      section.fair = cut(words, ' ') == "fair";
      if (const auto ms = whole_number<std::int64_t>(cut(words, ' '))) section.lease = std::chrono::milliseconds(*ms);
      break;
    case Act::What::kQueued:
      section.queued = act.at;
      break;
    case Act::What::kBegin:
      section.begun = act.at;
      ++section.begins;
      section.first_line = lines_;
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
