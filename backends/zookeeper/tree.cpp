// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/tree.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"

namespace dlock::zookeeper {
namespace {

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
    std::vector<Request> lists;
    for (const std::string& path : level) lists.push_back(ask_list(path));
    std::vector<Result<Answer>> answers = calls.call_all(lists, until, nullptr);
    std::vector<std::string> next;
    for (std::size_t i = 0; i < level.size(); ++i) {
      Result<Answer>& answer = answers[i];
      const bool again = !answer && answer.error().code == ErrorCode::kUnavailable;
      if (again) answer = calls.call_until(lists[i], until, nullptr);
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
    level = std::move(next);
  }
  return found;
}

}  // namespace dlock::zookeeper
