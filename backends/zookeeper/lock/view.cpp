// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/view.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/lock/standing_leases.h"
#include "backends/zookeeper/lock/store.h"
#include "lib/base/human_text.h"
#include "lib/base/text.h"
#include "lib/lock/who_text.h"

namespace dlock::zookeeper {
namespace {

bool is_entered(const std::string& parent, const std::string& name) {
  const bool own =
      name.starts_with('%') && name != "%" && (name.size() < 3 || !std::isxdigit(name[1]) || !std::isxdigit(name[2]));
  return !own && !(parent.empty() && name == "zookeeper") && !parse_node_name(name);
}

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

/// Description that a foreign client writes of itself: Curator the address of its machine, kazoo its user's choice.
void add_foreign(Participant& participant, std::string_view kind, const ParticipantNode& present) {
  const bool is_kazoo = kind.starts_with("kazoo");
  participant.owner = is_kazoo ? text_in(present.data) : "";
  participant.host = is_kazoo ? "" : text_in(present.data);
  participant.note = std::string(kind) + ", session " + hex_of(present.stat.ephemeral_owner);
  if (!asks_to_release(present.data)) return;
  participant.owner.clear();
  participant.host.clear();  // what stood there is overwritten
  participant.note += ", asked to release";
}

ParticipantNode present_of(Node node, const char* kind) {
  ParticipantNode present;
  present.kind = kind;
  present.path = node.path;
  present.holds = true;
  fill(present, std::move(node));
  return present;
}

/// A node without a contender, which keeps others out as a holder of a permit does.
ParticipantNode obstacle(const Node& node) {
  ParticipantNode present = present_of(node, "");
  present.participant.mode = Mode::kPermits;
  if (node.stat.ephemeral_owner == 0) present.participant.host.clear();  // not a client's address
  present.participant.note = "the node " + text_in(base_of(node.path)) + ", which is not a lease";
  return present;
}

Mode mode_of(const NodeName& name) {
  if (name.family == Family::kLease) return Mode::kPermits;
  return is_reader(name.family) ? Mode::kShared : Mode::kExclusive;
}

class PresentReader {
 public:
  PresentReader(Calls& calls, std::size_t listed, TimePoint until, Control* control)
      : calls_(calls), listed_(listed), until_(until), control_(control) {}

  Result<std::vector<ParticipantNode>> at(Recipe recipe, const std::string& directory) {
    if (const auto synced = calls_.call_until(ask_sync(directory), until_, control_); !synced) {
      return synced.error();
    }
    if (recipe == Recipe::kSimple) return one_node(directory);
    TRY_ASSIGN(const auto list, calls_.call_until(ask_list(directory), until_, control_));
    if (list.stat.ephemeral_owner != 0) return one_node(directory);
    auto queue = contenders(directory, list.children, listed_);
    if (!queue || !has(list.children, "leases")) return queue;
    auto counted = semaphore(directory + "/locks", directory + "/leases");
    if (!counted) return counted;
    return merged(std::move(*queue), std::move(*counted));
  }

 private:
  Result<std::vector<std::string>> list(const std::string& directory) {
    TRY_ASSIGN(auto answer, calls_.call_until(ask_list(directory), until_, control_));
    return std::move(answer.children);
  }

  /// Each that is still there. One that we may not read is there all the same.
  Result<std::map<std::string, Node>> read(const std::vector<std::string>& paths) {
    std::vector<Request> requests;
    for (const std::string& path : paths) requests.push_back(ask_data(path));
    std::map<std::string, Node> nodes;
    std::vector<Result<Answer>> answers = calls_.call_all(requests, until_, control_);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Result<Answer>& answer = answers[i];
      const bool is_denied = !answer && answer.error().code == ErrorCode::kDenied;
      if (is_denied) answer = calls_.call(ask_stat(paths[i]), until_, control_);
      else if (!answer) answer = calls_.call_until(requests[i], until_, control_);
      if (!answer) return answer.error();
      if (answer->code == Code::kOk) nodes[paths[i]] = {paths[i], answer->stat, std::move(answer->data)};
    }
    return nodes;
  }

  static bool has(const std::vector<std::string>& children, const std::string& name) {
    return std::find(children.begin(), children.end(), name) != children.end();
  }

  /// The contenders in a directory, of whom the first `listed` that only wait are read.
  Result<std::vector<ParticipantNode>> contenders(const std::string& directory,
                                                  const std::vector<std::string>& children, std::size_t listed) {
    std::vector<ParticipantNode> all = present_in(directory, children);
    std::vector<std::string> paths;
    for (ParticipantNode& one : all) {
      one.is_read = one.holds || listed > 0;
      if (one.is_read) paths.push_back(one.path);
      if (!one.holds && listed > 0) --listed;
    }
    TRY_ASSIGN(auto nodes, read(paths));
    std::vector<ParticipantNode> found;
    for (ParticipantNode& one : all) {
      const auto node = nodes.find(one.path);
      if (one.is_read && node == nodes.end()) continue;  // it has gone
      if (one.is_read) fill(one, std::move(node->second));
      found.push_back(std::move(one));
    }
    return found;
  }

  /// Those before the gate of a semaphore, who only wait; the first one is always read.
  Result<std::vector<ParticipantNode>> gate(const std::string& directory) {
    TRY_ASSIGN(const auto children, list(directory));
    auto found = contenders(directory, children, std::max<std::size_t>(listed_, 1));
    if (!found) return found;
    for (ParticipantNode& one : *found) one.holds = false;
    return found;
  }

  /// Curator counts whatever lies among the leases.
  Result<std::vector<ParticipantNode>> leases_in(const std::string& directory) {
    TRY_ASSIGN(const auto children, list(directory));
    auto found = contenders(directory, children, children.size());
    if (!found) return found;
    std::vector<std::string> strange;
    for (const std::string& name : children) {
      if (!parse_node_name(name)) strange.push_back(directory + "/" + name);
    }
    TRY_ASSIGN(const auto nodes, read(strange));
    for (const auto& [path, node] : nodes) found->insert(found->begin(), obstacle(node));
    return found;
  }

  /// A lease without a number known to us waits only while its session has the gate.
  Result<std::vector<ParticipantNode>> semaphore(const std::string& gates, const std::string& leases) {
    auto waiting = gate(gates);
    if (!waiting) return waiting;
    auto found = leases_in(leases);
    if (!found) return found;
    const std::int64_t at_gate = waiting->empty() ? -1 : waiting->front().stat.ephemeral_owner;
    int permits = 0;
    std::set<std::int64_t> sessions;
    for (const ParticipantNode& one : *found) {
      permits = std::max(permits, one.ours ? std::max(1, one.ours->permits) : 0);
      sessions.insert(one.stat.ephemeral_owner);
    }
    for (std::size_t i = 0; i < found->size(); ++i) {
      ParticipantNode& one = (*found)[i];
      const bool last = i + 1 == found->size();
      const bool room = permits > 0 && i < static_cast<std::size_t>(permits);
      one.holds = room || !last || one.stat.ephemeral_owner != at_gate;
    }
    came_to_gate(*found, *waiting);
    std::erase_if(*waiting, [&](const ParticipantNode& one) {
      return one.is_read && sessions.contains(one.stat.ephemeral_owner);
    });
    std::move(waiting->begin(), waiting->end(), std::back_inserter(*found));
    return found;
  }

  /// A lease that waits is the younger one of two nodes of its client: it came when that came to the gate.
  static void came_to_gate(std::vector<ParticipantNode>& leases, const std::vector<ParticipantNode>& waiting) {
    for (ParticipantNode& lease : leases) {
      if (lease.holds) continue;
      const auto gate = std::find_if(waiting.begin(), waiting.end(), [&](const ParticipantNode& one) {
        return one.is_read && one.stat.ephemeral_owner == lease.stat.ephemeral_owner;
      });
      if (gate == waiting.end()) continue;
      lease.came = gate->came;
      lease.participant.since = gate->participant.since;
    }
  }

  /// dlock waits for those before it on the other side; Curator looks at its own only.
  static std::vector<ParticipantNode> merged(std::vector<ParticipantNode> queue, std::vector<ParticipantNode> counted) {
    const auto wait_for_older = [](std::vector<ParticipantNode>& some, const std::vector<ParticipantNode>& others) {
      for (ParticipantNode& one : some) {
        one.holds =
            one.holds && !(one.ours && std::any_of(others.begin(), others.end(), [&](const ParticipantNode& other) {
                             return other.is_read && other.participant.token < one.participant.token;
                           }));
      }
    };
    wait_for_older(queue, counted);
    wait_for_older(counted, queue);
    std::move(counted.begin(), counted.end(), std::back_inserter(queue));
    std::stable_sort(queue.begin(), queue.end(), [](const ParticipantNode& a, const ParticipantNode& b) {
      return std::pair(!a.is_read, a.came) < std::pair(!b.is_read, b.came);
    });
    return queue;
  }

  /// A key that is itself the node of a session: a lock of recipe=simple, or another program's.
  Result<std::vector<ParticipantNode>> one_node(const std::string& path) {
    TRY_ASSIGN(auto answer, calls_.call_until(ask_data(path), until_, control_));
    if (answer.code != Code::kOk) return std::vector<ParticipantNode>();
    if (answer.stat.ephemeral_owner == 0) return is_directory(calls_, path);
    return std::vector<ParticipantNode>{present_of({path, answer.stat, std::move(answer.data)}, "ephemeral node")};
  }

  Calls& calls_;
  const std::size_t listed_;
  const TimePoint until_;
  Control* const control_;
};

}  // namespace

void fill(ParticipantNode& present, Node node) {
  present.is_read = true;
  present.stat = node.stat;
  present.data = std::move(node.data);
  present.ours = decode_record(present.data);
  Participant& participant = present.participant;
  if (present.ours) participant = static_cast<const Participant&>(*present.ours);
  if (participant.token.is_none()) participant.token = FencingToken(static_cast<std::uint64_t>(present.stat.czxid));
  present.came = participant.token;
  participant.since = WallTime(std::chrono::milliseconds(present.stat.ctime));
  if (!present.ours) add_foreign(participant, present.kind, present);
  participant.revoked.clear();
  if (present.ours) add_word(participant, present.ours->revoked);
  const auto lease = lease_in(present.stat, present.data);
  if (!lease) return;
  participant.until = end_of(*lease, present.stat);
  present.opens = end_of_delay(*lease, present.stat);
  if (!participant.ran.empty()) participant.at_least = lease->lasts;
}

namespace {

void leave_out_over(std::vector<ParticipantNode>& present, WallTime now) {
  std::erase_if(present, [&](const ParticipantNode& one) { return one.opens && *one.opens < now; });
  for (ParticipantNode& one : present) {
    const bool forced = one.participant.owner.find_first_not_of('0') == std::string::npos;
    if (!one.opens || (!forced && *one.participant.until >= now)) continue;
    if (forced) one.participant.host = one.participant.user = one.participant.command = one.participant.reason = "";
    one.participant.until = one.opens;
    one.participant.standing = forced ? Standing::kDelayAfterForce : Standing::kDelayAfterLease;
  }
}

}  // namespace

std::vector<ParticipantNode> present_in(const std::string& directory, const std::vector<std::string>& children) {
  const Contenders contenders(children);
  std::vector<ParticipantNode> found;
  for (const auto& [name, text] : contenders.sorted()) {
    ParticipantNode one;
    one.name = name;
    one.kind = family_text(name.family);
    one.path = directory + "/" + text.get();
    one.participant.mode = mode_of(name);
    one.holds = contenders.holds(rule_of(name), text, 0);
    found.push_back(std::move(one));
  }
  return found;
}

Result<std::vector<ParticipantNode>> read_present(Calls& calls, Recipe recipe, const std::string& directory,
                                                  std::size_t listed, ServerClock& clock, TimePoint until,
                                                  Control* control) {
  auto present = PresentReader(calls, listed, until, control).at(recipe, directory);
  if (!present) return present;
  const auto is_lease = [](const ParticipantNode& one) { return one.opens.has_value(); };
  if (std::any_of(present->begin(), present->end(), is_lease))
    leave_out_over(*present, clock.now(calls, until, control));
  return present;
}

std::optional<TimePoint> first_end(const std::vector<ParticipantNode>& present, TimePoint now, WallTime theirs) {
  std::optional<TimePoint> first;
  for (const ParticipantNode& one : present) {
    if (one.opens) first = earlier(first, now + std::max<Duration>(*one.opens - theirs, Duration(0)) + kStampUnit);
  }
  return first;
}

LockState state_of(const LockName& name, const std::string& store, const std::vector<ParticipantNode>& present,
                   const std::string& own) {
  LockState state{name, store, Mode::kExclusive, 0, {}, {}};
  std::size_t waiting = 0;
  for (const ParticipantNode& one : present) {
    if (!one.holds) ++waiting;
    if (!one.holds && one.path == own) state.place = waiting;
    if (!one.is_read) {
      ++state.more_waiters;
      continue;
    }
    auto& participants = one.holds ? state.holders : state.waiters;
    participants.push_back(one.participant);
    if (one.holds && one.ours && one.ours->left_to) mark_lease(participants.back(), *one.ours->left_to);
    if (one.ours && one.ours->permits > 0) state.permits = one.ours->permits;
  }
  if (!state.holders.empty()) state.mode = state.holders.front().mode;
  if (state.mode != Mode::kPermits) state.permits = 0;
  return state;
}

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
