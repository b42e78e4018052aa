// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/tree.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"

namespace dlock::zookeeper {
namespace {

constexpr std::size_t kOnTheWay = 256;  ///< requests that wait for their answers

bool is_entered(const std::string& parent, const std::string& name) {
  const bool own =
      name.starts_with('%') && name != "%" && (name.size() < 3 || !std::isxdigit(name[1]) || !std::isxdigit(name[2]));
  return !own && !(parent.empty() && name == "zookeeper") && !parse_node_name(name);
}

}  // namespace

Result<std::vector<TreeNode>> walk(Calls& calls, const std::string& root, TimePoint until) {
  std::vector<TreeNode> found;
  std::vector<std::string> level{root};
  while (!level.empty()) {
    std::vector<std::string> next;
    for (std::size_t begin = 0; begin < level.size(); begin += kOnTheWay) {
      const std::size_t end = std::min(level.size(), begin + kOnTheWay);
      std::vector<std::uint64_t> tickets;
      for (std::size_t i = begin; i < end; ++i) {
        tickets.push_back(calls.send({.kind = Request::Kind::kList, .path = level[i].empty() ? "/" : level[i]}));
      }
      for (std::size_t i = begin; i < end; ++i) {
        auto answer = calls.answer(tickets[i - begin], until, nullptr);
        if (!answer && answer.error().code == ErrorCode::kUnavailable) {
          answer = calls.call_until({.kind = Request::Kind::kList, .path = level[i].empty() ? "/" : level[i]}, until,
                                    nullptr);
        }
        if (level[i] != root && !answer && answer.error().code == ErrorCode::kDenied) {
          found.push_back({.path = level[i], .stat = {}, .closed = answer.error()});
          continue;
        }
        if (!answer) return answer.error();
        if (answer->code != Code::kOk) continue;
        for (const std::string& name : answer->children) {
          if (is_entered(level[i], name)) next.push_back(level[i] + "/" + name);
        }
        found.push_back({.path = level[i], .stat = answer->stat, .children = std::move(answer->children)});
      }
    }
    level = std::move(next);
  }
  return found;
}

}  // namespace dlock::zookeeper
