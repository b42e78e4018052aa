// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/one_node.h"

#include "lib/base/random.h"

namespace dlock::zookeeper {
namespace {

constexpr std::uint64_t kLeastWrites = 16;  ///< more than a node gets before it is freed

}  // namespace

Result<int> stamp_one_node(Calls& calls, const std::string& path, FencingToken token, TimePoint until) {
  const Error changed{ErrorCode::kConflict, "the holders have changed; nothing was freed"};
  const auto is_it = [&](const NodeStat& stat) { return static_cast<std::uint64_t>(stat.czxid) == token.value(); };
  while (true) {
    const auto node = calls.call(ask_data(path), until, nullptr);
    if (!node) return node.error();
    if (node->code != Code::kOk || !is_it(node->stat)) return changed;
    std::vector<Change> writes(kLeastWrites + random_below(kLeastWrites), set_node(path, node->data));
    writes.front().version = node->stat.version;
    const auto written = calls.call(ask_change(writes), until, nullptr);
    if (!written) return written.error();
    if (written->code == Code::kBadVersion && calls.clock().now() < until) continue;
    if (written->code != Code::kOk || !is_it(written->changed.back().stat)) return changed;
    return written->changed.back().stat.version;
  }
}

Error is_directory(const Calls& calls, const std::string& path) {
  return {ErrorCode::kUnsupported, path + " on " + calls.store() + " is a directory, and not a lock of recipe=simple",
          "choose another key, or the recipe that made it"};
}

}  // namespace dlock::zookeeper
