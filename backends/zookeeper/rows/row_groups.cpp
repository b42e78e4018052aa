// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/rows/row_groups.h"

#include <algorithm>
#include <utility>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/rows/row_nodes.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/base/random.h"

namespace dlock::zookeeper {

Result<bool> RowGroups::find(const LockName& name, const CallLimit& limit) {
  if (group_ && group_->name == name) return true;
  group_.reset();
  const std::string path = group_path(session_.root(), space_.name, name);
  TRY_ASSIGN(const auto answers, session_.ask({ask_sync(path), ask_data(path)}, limit));
  const Answer& seen = answers.back();
  if (seen.code == Code::kNoNode) return false;
  if (seen.code != Code::kOk || seen.data.empty())
    return unexpected(ErrorCode::kUnavailable, seen.code, session_.store(), "does not show " + path);
  group_ = {name, lives_path(session_.root(), space_.name) + "/" + seen.data,
            (seen.stat.ctime + 1) * 1000 - seen.stat.czxid};
  return true;
}

/// Of two at once one finds the other's.
Result<void> RowGroups::make(const LockName& name, const CallLimit& limit) {
  const std::string lives = lives_path(session_.root(), space_.name);
  const std::string word = random_hex(8);
  const std::string life = lives + "/" + word;
  const Request made =
      ask_change({create_node(group_path(session_.root(), space_.name, name), word), create_node(life, name.text()),
                  create_node(life + "/one", ""), create_node(life + "/live", "")});
  TRY_ASSIGN(auto answer, session_.ask(made, limit));
  if (answer.code == Code::kNoNode) {
    TRY(session_.make_directory(own_directory(session_.root(), space_.name), limit));
    TRY(session_.make_directory(lives, limit));
    TRY_ASSIGN(answer, session_.ask(made, limit));
  }
  if (answer.code == Code::kOk || answer.code == Code::kNodeExists) return {};
  return unexpected(ErrorCode::kUnsupported, answer.code, session_.store(), "makes no nodes for " + name.text());
}

Result<std::vector<LockName>> RowGroups::all(const CallLimit& limit) {
  const std::string path = own_directory(session_.root(), space_.name);
  TRY_ASSIGN(const auto list, session_.ask_until(std::vector<Request>{ask_sync(path), ask_list(path)}, limit));
  std::vector<LockName> names;
  for (const std::string& child : list.back().children) {
    if (auto name = name_of_part(child)) names.push_back(std::move(*name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string RowGroups::path() const { return group_path(session_.root(), space_.name, group_->name); }

std::string RowGroups::path_of(std::string_view key) const { return row_path(group_->life, space_, key); }

Rows::Row RowGroups::row_of(const Answer& answer) const {
  if (answer.code != Code::kOk) return {};
  return {answer.data, number_of(answer.stat.mzxid), answer.stat.mtime * 1000};
}

}  // namespace dlock::zookeeper
