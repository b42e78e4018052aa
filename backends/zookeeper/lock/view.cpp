// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/view.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "lib/base/human_text.h"
#include "lib/base/text.h"

namespace dlock::zookeeper {
namespace {

constexpr std::size_t kLongestText = 128;

std::string hex_of(std::int64_t number) {
  char text[17] = {};
  const auto [end, error] = std::to_chars(text, text + sizeof text, static_cast<std::uint64_t>(number), 16);
  return "0x" + std::string(text, end);
}

/// Nothing of what is not text: a foreign client may keep anything in its node.
std::string text_in(std::string_view data) {
  std::string shown = printable(data, kLongestText);
  return shown.find(kReplacementCharacter) == std::string::npos ? shown : std::string();
}

/// What a foreign client says of itself: Curator the address of its machine, kazoo whatever its user chose.
void add_foreign(Participant& participant, const char* kind, bool is_kazoo, const Node& node) {
  participant.owner = is_kazoo ? text_in(node.data) : "";
  participant.host = is_kazoo ? "" : text_in(node.data);
  participant.note = std::string(kind) + ", session " + hex_of(node.stat.ephemeral_owner);
}

Present present_of(const Node& node, const char* kind, bool is_kazoo) {
  Present present;
  present.paths = {node.path};
  present.stat = node.stat;
  present.data = node.data;
  present.ours = decode_record(node.data);
  Participant& participant = present.participant;
  participant.token = FencingToken(static_cast<std::uint64_t>(node.stat.czxid));
  participant.since = WallTime(std::chrono::milliseconds(node.stat.ctime));
  if (present.ours) {
    participant.owner = present.ours->owner;
    participant.host = present.ours->host;
    participant.pid = present.ours->pid;
    participant.user = present.ours->user;
    participant.reason = present.ours->reason;
    participant.mode = present.ours->mode;
    participant.slot = present.ours->slot;
    participant.command = present.ours->command;
    participant.at_least = present.ours->at_least;
  } else {
    add_foreign(participant, kind, is_kazoo, node);
  }
  return present;
}

/// A node that is nobody's, and keeps others out as one that holds in that mode.
Present obstacle(const Node& node, Mode mode, const char* what) {
  Present present = present_of(node, "", false);
  present.holds = true;
  present.participant.mode = mode;
  if (node.stat.ephemeral_owner == 0) present.participant.host.clear();  // no client's address
  present.participant.note = "the node " + text_in(base_of(node.path)) + ", which is no " + what;
  return present;
}

Mode mode_of(const NodeName& name) {
  if (name.permits > 0) return Mode::kPermits;
  const bool reads = name.family == Family::kCuratorRead || name.family == Family::kKazooRead;
  return reads ? Mode::kShared : Mode::kExclusive;
}

bool is_kazoo(Family family) { return family == Family::kKazooLock || family == Family::kKazooRead; }

Request make(Request::Kind kind, const std::string& path) { return {.kind = kind, .path = path.empty() ? "/" : path}; }

/// A directory: the names of its children, and those of them that were still there when they were read.
struct Listing {
  std::vector<std::string> children;
  std::vector<Node> nodes;
};

class PresentReader {
 public:
  PresentReader(Calls& calls, TimePoint until, Control* control) : calls_(calls), until_(until), control_(control) {}

  Result<std::vector<Present>> at(Recipe recipe, const std::string& directory) {
    if (const auto synced = calls_.call_until(make(Request::Kind::kSync, directory), until_, control_); !synced) {
      return synced.error();
    }
    if (recipe == Recipe::kSemaphore || recipe == Recipe::kSemaphoreMutex) {
      return semaphore(directory + "/locks", directory + "/leases");
    }
    if (recipe == Recipe::kKazooSemaphore) return kazoo_semaphore(directory);
    if (recipe == Recipe::kSimple) return one_node(directory);
    if (recipe == Recipe::kMutex) return queue(directory, Mode::kExclusive);
    if (recipe == Recipe::kRw) return queue(directory, Mode::kShared);
    return queue(directory);
  }

 private:
  Result<std::vector<std::string>> list(const std::string& directory) {
    auto answer = calls_.call_until(make(Request::Kind::kList, directory), until_, control_);
    if (!answer) return answer.error();
    return std::move(answer->children);
  }

  /// Those that are still there.
  Result<std::vector<Node>> read(const std::string& directory, const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::uint64_t>> tickets;
    for (const std::string& name : names) {
      const std::string path = directory + "/" + name;
      tickets.emplace_back(path, calls_.send(make(Request::Kind::kRead, path)));
    }
    std::vector<Node> nodes;
    std::optional<Error> failed;
    for (auto& [path, ticket] : tickets) {
      auto answer = calls_.answer(ticket, until_, control_);
      if (!answer && answer.error().code != ErrorCode::kDenied) {
        failed = answer.error();
      } else if (!answer) {  // one that we may not read is there all the same
        const auto stat = calls_.call(make(Request::Kind::kExists, path), until_, control_);
        if (stat && stat->code == Code::kOk) nodes.push_back({path, stat->stat, ""});
      } else if (answer->code == Code::kOk) {
        nodes.push_back({path, answer->stat, std::move(answer->data)});
      }
    }
    if (failed) return *failed;
    return nodes;
  }

  Result<Listing> read_all(const std::string& directory) {
    auto children = list(directory);
    if (!children) return children.error();
    auto nodes = read(directory, *children);
    if (!nodes) return nodes.error();
    return Listing{std::move(*children), std::move(*nodes)};
  }

  /// What is in the way of Curator's locks holds as in the mode `obstacles`; in that of others nothing is.
  Result<std::vector<Present>> queue(const std::string& directory, std::optional<Mode> obstacles = {}) {
    const auto children = list(directory);
    if (!children) return children.error();
    std::vector<std::string> seen;
    for (const std::string& name : *children) {
      if (parse_node_name(name) || (obstacles && is_in_curators_way(name))) seen.push_back(name);
    }
    const auto nodes = read(directory, seen);
    if (!nodes) return nodes.error();
    std::vector<Present> found;
    for (const Node& node : *nodes) {
      if (!parse_node_name(base_of(node.path))) found.push_back(obstacle(node, *obstacles, "contender"));
    }
    for (Present& one : present_in(*children, *nodes)) found.push_back(std::move(one));
    return found;
  }

  /// Curator counts whatever lies among the leases.
  Result<std::vector<Present>> leases_in(const std::string& directory) {
    const auto all = read_all(directory);
    if (!all) return all.error();
    std::vector<Present> found;
    for (const Node& node : all->nodes) {
      if (!parse_node_name(base_of(node.path))) found.push_back(obstacle(node, Mode::kPermits, "lease"));
    }
    for (Present& one : present_in(all->children, all->nodes)) found.push_back(std::move(one));
    return found;
  }

  /// A lease without a number known to us waits only while its session has the gate.
  Result<std::vector<Present>> semaphore(const std::string& gates, const std::string& leases) {
    auto waiting = queue(gates);
    if (!waiting) return waiting;
    auto found = leases_in(leases);
    if (!found) return found;
    const std::int64_t at_gate = waiting->empty() ? -1 : waiting->front().stat.ephemeral_owner;
    int permits = 0;
    for (const Present& one : *found) permits = std::max(permits, one.ours ? std::max(1, one.ours->permits) : 0);
    for (std::size_t i = 0; i < found->size(); ++i) {
      Present& one = (*found)[i];
      const bool last = i + 1 == found->size();
      const bool room = permits > 0 && i < static_cast<std::size_t>(permits);
      one.holds = room || !last || one.stat.ephemeral_owner != at_gate;
    }
    std::erase_if(*waiting, [&](const Present& one) {
      return std::any_of(found->begin(), found->end(),
                         [&](const Present& lease) { return lease.stat.ephemeral_owner == one.stat.ephemeral_owner; });
    });
    for (Present& one : *waiting) {
      one.holds = false;
      found->push_back(std::move(one));
    }
    return found;
  }

  /// kazoo counts whatever lies there; its own leases are ephemeral.
  Result<std::vector<Present>> kazoo_semaphore(const std::string& directory) {
    const auto all = read_all(directory);
    if (!all) return all.error();
    std::vector<Present> found;
    for (const Node& node : all->nodes) {
      if (node.stat.ephemeral_owner == 0) {
        found.push_back(obstacle(node, Mode::kPermits, "lease"));
        continue;
      }
      found.push_back(present_of(node, "kazoo semaphore", true));
      found.back().holds = true;
      if (!found.back().ours) found.back().participant.mode = Mode::kPermits;
    }
    std::sort(found.begin(), found.end(),
              [](const Present& a, const Present& b) { return a.participant.token < b.participant.token; });
    auto waiting = queue(directory + "-__lock__");
    if (!waiting) return waiting;
    for (Present& one : *waiting) {
      one.holds = false;
      found.push_back(std::move(one));
    }
    return found;
  }

  Result<std::vector<Present>> one_node(const std::string& path) {
    auto answer = calls_.call_until(make(Request::Kind::kRead, path), until_, control_);
    if (!answer) return answer.error();
    std::vector<Present> found;
    if (answer->code == Code::kOk && answer->stat.ephemeral_owner != 0) {
      found.push_back(present_of({path, answer->stat, std::move(answer->data)}, "ephemeral node", false));
      found.back().holds = true;
    }
    return found;
  }

  Calls& calls_;
  const TimePoint until_;
  Control* const control_;
};

}  // namespace

std::vector<Present> present_in(const std::vector<std::string>& children, const std::vector<Node>& nodes) {
  struct Group {
    std::vector<const Node*> nodes;
    std::vector<NodeName> names;
  };
  std::vector<std::pair<NodeName, const Node*>> named;
  for (const Node& node : nodes) {
    if (const auto name = parse_node_name(base_of(node.path))) named.emplace_back(*name, &node);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.first.number < b.first.number; });
  std::map<std::pair<std::int64_t, std::int64_t>, Group> groups;  // one transaction of one session
  for (const auto& [name, node] : named) {
    Group& group = groups[{node->stat.czxid, node->stat.ephemeral_owner}];
    group.nodes.push_back(node);
    group.names.push_back(name);
  }
  std::vector<Present> found;
  for (const auto& [id, group] : groups) {
    const NodeName& name = group.names.front();
    Present present = present_of(*group.nodes.front(), family_text(name.family), is_kazoo(name.family));
    if (!present.ours) present.participant.mode = mode_of(name);
    present.number = name.number;  // the lowest
    present.paths.clear();
    std::vector<std::string> own;
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      present.paths.push_back(group.nodes[i]->path);
      own.push_back(base_of(group.nodes[i]->path));
    }
    present.holds = judge(rule_of(group.names), children, own, name.permits).kind == Verdict::Kind::kHolds;
    found.push_back(std::move(present));
  }
  std::stable_sort(found.begin(), found.end(), [](const Present& a, const Present& b) { return a.number < b.number; });
  return found;
}

Result<std::vector<Present>> read_present(Calls& calls, Recipe recipe, const std::string& directory, TimePoint until,
                                          Control* control) {
  return PresentReader(calls, until, control).at(recipe, directory);
}

LockState state_of(const LockName& name, const std::string& store, const std::vector<Present>& present) {
  LockState state{name, store, Mode::kExclusive, 0, {}, {}};
  for (const Present& one : present) {
    auto& participants = one.holds ? state.holders : state.waiters;
    participants.push_back(one.participant);
    if (one.holds && one.ours && one.ours->left_to) mark_lease(participants.back(), *one.ours->left_to);
    if (one.ours && one.ours->permits > 0) state.permits = one.ours->permits;
  }
  if (!state.holders.empty()) state.mode = state.holders.front().mode;
  if (state.mode != Mode::kPermits) state.permits = 0;
  return state;
}

}  // namespace dlock::zookeeper
