// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/acts.h"

#include <algorithm>
#include <iterator>

#include "lib/base/text.h"

namespace dlock {
namespace {

constexpr std::string_view kActNames[] = {"ASK", "QUEUED", "BEGIN", "TICK", "TERM", "END", "GONE", "HIT", "HEALED"};

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

}  // namespace dlock
