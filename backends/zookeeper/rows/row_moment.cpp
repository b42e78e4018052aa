// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_moment.h"

#include <algorithm>

namespace dlock::zookeeper {
namespace {

/// Of two readings of one node the one that shows it as it was right after the transaction `newest`, which is the
/// newest that the first reading of any node has seen; nullptr: neither is known to.
const Answer* at_moment(const Answer& first, const Answer& again, std::int64_t newest) {
  if (again.code == first.code && again.stat.mzxid == first.stat.mzxid) return &first;
  if (again.code != Code::kOk) return nullptr;
  if (again.stat.mzxid <= newest) return &again;
  const bool is_next = again.stat.czxid == first.stat.czxid && again.stat.version == first.stat.version + 1;
  return first.code == Code::kOk && is_next ? &first : nullptr;
}

}  // namespace

std::vector<const Answer*> at_one_moment(std::span<const Answer> first, std::span<const Answer> again) {
  std::int64_t newest = 0;
  for (const Answer& one : first) newest = std::max(newest, one.stat.mzxid);
  std::vector<const Answer*> shown;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Answer* one = at_moment(first[i], again[i], newest);
    if (one) shown.push_back(one);
  }
  return shown;
}

}  // namespace dlock::zookeeper
