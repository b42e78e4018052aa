// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/windows.h"

#include <algorithm>

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

}  // namespace

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

}  // namespace dlock
