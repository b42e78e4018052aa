// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/slots.h"

#include <algorithm>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/lock/slots.h"

namespace dlock::zookeeper {
namespace {

/// One choice, from its first look to its transaction.
class Choice {
 public:
  Choice(Calls& calls, const Stage& stage, const std::vector<std::string>& own, const LockSpec& spec, TimePoint until,
         Control* control)
      : calls_(calls), stage_(stage), own_(own), spec_(spec), until_(until), control_(control) {}

  /// nullopt: another has chosen since.
  Result<std::optional<std::string>> attempt() {
    if (const auto read = read_directory(); !read) return read.error();
    HolderRecord record = decode_record(first_.data).value_or(record_of(spec_));
    if (!record.slot.empty()) return std::optional(std::move(record.slot));
    const auto taken = taken_by_others();
    if (!taken) return taken.error();
    record.slot = free_slot(spec_.slots, spec_.permits, *taken);
    return write(record);
  }

 private:
  /// The directory's version before its children: who took a slot up to that version is among them. The server answers
  /// in the order in which it was asked.
  Result<void> read_directory() {
    auto answers = calls_.call_all({ask_data(stage_.directory), ask_data(own_.front()), ask_list(stage_.directory)},
                                   until_, control_);
    Result<void> read;
    auto got_next = answers.begin();
    for (Answer* const answer : {&directory_, &first_, &list_}) {
      auto& got = *got_next++;
      if (!got) read = got.error();
      else *answer = std::move(*got);
      if (read && answer->code != Code::kOk) read = refused(answer->code);
    }
    return read;
  }

  Result<std::vector<std::string>> taken_by_others() {
    std::vector<std::string> taken;
    std::vector<std::string> overwritten;
    const auto nodes = permit_nodes(list_.children, stage_.permits);
    if (const auto read = read_slots(nodes, taken, &overwritten); !read) return read.error();
    std::vector<std::string> twins;
    for (const std::string& name : overwritten) {
      if (auto twin = twin_of(name, list_.children)) twins.push_back(std::move(*twin));
    }
    if (const auto read = read_slots(twins, taken, nullptr); !read) return read.error();
    return taken;
  }

  /// The slots that the data of these nodes name. `overwritten`: gets those whose data are not ours any more.
  Result<void> read_slots(const std::vector<std::string>& names, std::vector<std::string>& taken,
                          std::vector<std::string>* overwritten) {
    std::vector<Request> requests;
    std::vector<std::string> others;
    for (const std::string& name : names) {
      const std::string path = stage_.directory + "/" + name;
      if (std::find(own_.begin(), own_.end(), path) != own_.end()) continue;
      requests.push_back(ask_data(path));
      others.push_back(name);
    }
    Result<void> read;
    const auto answers = calls_.call_all(requests, until_, control_);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Result<Answer>& answer = answers[i];
      if (!answer) read = answer.error();
      else if (const auto record = decode_record(answer->data)) taken.push_back(record->slot);
      else if (overwritten && answer->code == Code::kOk) overwritten->push_back(others[i]);
    }
    return read;
  }

  Result<std::optional<std::string>> write(const HolderRecord& record) {
    std::vector<Change> changes{set_node(stage_.directory, directory_.data, directory_.stat.version)};
    for (const std::string& path : own_) changes.push_back(set_node(path, encode(record)));
    changes[1].version = first_.stat.version;
    const auto answer = calls_.call(ask_change(std::move(changes)), until_, control_);
    if (!answer) return answer.error();
    if (answer->code == Code::kBadVersion) return std::optional<std::string>();
    if (answer->code != Code::kOk) return refused(answer->code);
    return std::optional(record.slot);
  }

  Error refused(Code code) const {
    if (code == Code::kNoNode)
      return {ErrorCode::kLost, "the lock was deleted on " + calls_.store() + " while it was granted"};
    return unexpected(ErrorCode::kUnavailable, code, calls_.store(), "does not note a slot in " + stage_.directory);
  }

  Calls& calls_;
  const Stage& stage_;
  const std::vector<std::string>& own_;
  const LockSpec& spec_;
  const TimePoint until_;
  Control* const control_;
  Answer directory_;
  Answer first_;
  Answer list_;
};

}  // namespace

std::vector<std::string> permit_nodes(const std::vector<std::string>& children, int permits) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& child : children) {
    const auto name = parse_node_name(child);
    if (name && name->family == Family::kCuratorRead && name->permits > 0) found.emplace_back(name->number, child);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> nodes;
  for (auto& [number, name] : found) {
    if (nodes.size() < static_cast<std::size_t>(permits)) nodes.push_back(std::move(name));
  }
  return nodes;
}

std::optional<std::string> twin_of(const std::string& node, const std::vector<std::string>& children) {
  const auto own = parse_node_name(node);
  for (const std::string& child : children) {
    const auto name = own ? parse_node_name(child) : std::nullopt;
    if (name && name->family == Family::kKazooRead && name->permits > 0 && name->number + 1 == own->number)
      return child;
  }
  return std::nullopt;
}

Result<std::string> take_slot(Calls& calls, const Stage& stage, const std::vector<std::string>& own,
                              const LockSpec& spec, TimePoint until, Control* control) {
  Choice choice(calls, stage, own, spec, until, control);
  while (true) {
    auto taken = choice.attempt();
    if (!taken) return taken.error();
    if (*taken) return std::move(**taken);
    if (calls.clock().now() >= until) {
      return Error{ErrorCode::kUnavailable, "others are always quicker to take a slot in " + stage.directory};
    }
  }
}

}  // namespace dlock::zookeeper
