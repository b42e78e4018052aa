// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_moment.h"

#include <algorithm>

namespace dlock::zookeeper {
namespace {

bool is_gone(const Answer& answer) { return answer.code == Code::kNoNode; }

/// Of two readings of one node the one that shows it as it was at the moment; nullptr: neither is known to. `newest`:
/// no later than that. `is_later`: the first reading was, so what has changed after both is not in it.
const Answer* at_moment(const Answer& first, const Answer& again, std::int64_t newest, bool is_later) {
  if (again.code == first.code && again.stat.mzxid == first.stat.mzxid) return &first;
  if (again.code != Code::kOk) return nullptr;
  if (again.stat.mzxid <= newest) return &again;
  const bool is_next = again.stat.czxid == first.stat.czxid && again.stat.version == first.stat.version + 1;
  return first.code == Code::kOk && is_next && is_later ? &first : nullptr;
}

}  // namespace

/// The moment: when the newest transaction that the first reading shows was made and the last of the nodes that are not
/// there was found so. Nothing shows when such a node went, so what was read before that may be from before it.
std::vector<const Answer*> at_one_moment(std::span<const Answer> first, std::span<const Answer> again) {
  std::int64_t newest = 0;
  std::size_t present = 0;  // from here on all are there
  for (std::size_t i = 0; i < first.size(); ++i) {
    newest = std::max(newest, first[i].stat.mzxid);
    if (is_gone(first[i]) && is_gone(again[i])) present = i + 1;
  }
  std::vector<const Answer*> shown;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Answer* one = at_moment(first[i], again[i], newest, i >= present);
    if (one) shown.push_back(one);
  }
  return shown;
}

}  // namespace dlock::zookeeper
