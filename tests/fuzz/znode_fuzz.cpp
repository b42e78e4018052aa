// SPDX-License-Identifier: Apache-2.0
// What a ZooKeeper server may send: whatever lies in a lock's directory, nobody is told that he holds what another one
// holds, and what strangers wrote into their nodes steers nothing. An input has a line for each node: its name, a tab,
// its data.
#include <algorithm>
#include <map>

#include "backends/zookeeper/lock/view.h"
#include "lib/base/human_text.h"
#include "tests/fuzz/target.h"

const std::string_view dlock::kPieces[] = {
    "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0001-lock-0000000001",
    "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0002-lock-0000000002",
    "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0003-__READ__0000000003",
    "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0004-__WRIT__0000000004",
    "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0005-lease-0000000005",
    "0a6bd1f20cc14a0c9b4e6b6e8a9d0006__lock__0000000006",
    "0a6bd1f20cc14a0c9b4e6b6e8a9d0007__rlock__0000000007",
    "_c_a0000000-0000-d10c-0000-000000000008-lock-\t",
    "\n",
    "\n",
    "\t",
    "\t",
    "lock-",
    "__lock__",
    "__rlock__",
    "__READ__",
    "__WRIT__",
    "-lease-",
    "0000000001",
    "0000000007",
    "2147483647",
    "-2147483648",
    "99999999999999999999",
    "dlock owner=0123456789abcdef0123456789abcdef host=h pid=7 user=u mode=exclusive",
    "dlock owner=o host=a%20b pid=1 user=%1B mode=permits permits=2 delay_ms=1500 ended=1 reason=x%25",
    " permits=-1",
    " permits=99999999999",
    " delay_ms=-5",
    " delay_ms=9223372036854775807",
    " mode=shared",
    "%",
    "%4",
    "\x1b[31m",
    "192.168.0.1",
    "__REVOKE__",
    "unlock",
};
const std::size_t dlock::kPieceCount = std::size(kPieces);

namespace dlock::zookeeper {
namespace {

using Names = std::vector<std::string>;

std::string_view take_until(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

bool is_tame(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool is_harmless(const std::string& text) { return printable(text, 128) == text; }

void read_data(std::string_view text) {
  const auto data = decode_record(text);
  if (!data) return;
  promise(!data->owner.empty(), "our nodes have an owner");
  promise(data->permits >= 0, "nobody has less than no permits");
  promise(data->lock_delay >= Duration(0), "no lock-delay ends before it begins");
  if (!is_tame(data->owner)) return;
  const auto again = decode_record(encode(*data));
  promise(again && again->owner == data->owner && again->host == data->host && again->pid == data->pid &&
              again->user == data->user && again->mode == data->mode && again->permits == data->permits &&
              again->lock_delay == data->lock_delay && again->reason == data->reason,
          "what is written can be read");
}

bool holds(Rule rule, const Names& children, const std::string& own, int permits) {
  const QueueTurn turn = judge(rule, children, own, permits);
  promise(turn.kind != QueueTurn::Kind::kGone, "who is there is not gone");
  promise(turn.watch != own, "nobody waits for himself");
  if (!turn.watch.empty()) {
    promise(std::count(children.begin(), children.end(), turn.watch) == 1, "who is watched is there");
  }
  return turn.kind == QueueTurn::Kind::kHolds;
}

/// How many of those nodes that `rule` is made for hold by it.
template <typename Wanted>
int holders(Rule rule, const Names& children, int permits, Wanted wanted) {
  int count = 0;
  for (const std::string& name : children) {
    const auto parsed = parse_node_name(name);
    if (parsed && wanted(*parsed) && holds(rule, children, name, permits)) ++count;
  }
  return count;
}

void judge_directory(const Names& children) {
  const auto of = [](Family family) { return [family](const NodeName& name) { return name.family == family; }; };
  const auto writes = [](const NodeName& name) {
    return name.family == Family::kCuratorMutex || name.family == Family::kCuratorWrite;
  };
  promise(holders(Rule::kCuratorMutex, children, 0, of(Family::kCuratorMutex)) <= 1, "a Curator mutex has one holder");
  promise(holders(Rule::kCuratorWrite, children, 0, of(Family::kCuratorWrite)) <= 1, "a Curator writer holds alone");
  promise(holders(Rule::kKazooWrite, children, 0, of(Family::kKazooLock)) <= 1, "a kazoo writer holds alone");
  promise(holders(Rule::kExclusive, children, 0, writes) <= 1, "an exclusive dlock holds alone");
  holders(Rule::kCuratorRead, children, 0, of(Family::kCuratorRead));
  holders(Rule::kKazooRead, children, 0, of(Family::kKazooRead));
  holders(Rule::kShared, children, 0, of(Family::kCuratorRead));
  holders(Rule::kCuratorLease, children, 3, of(Family::kLease));
}

void show_directory(const Names& children, const std::map<std::string, Node>& nodes) {
  auto present = present_in("/k", children);
  for (ParticipantNode& one : present) fill(one, nodes.at(one.path));
  for (std::size_t i = 0; i < present.size(); ++i) {
    const ParticipantNode& one = present[i];
    promise(i == 0 || present[i - 1].name.number <= one.name.number, "the queue is in order");
    promise(one.ours || (is_harmless(one.participant.owner) && is_harmless(one.participant.host)),
            "what strangers say steers no terminal");
    for (const Rule rule : {Rule::kExclusive, Rule::kShared, Rule::kCuratorMutex, Rule::kKazooWrite}) {
      for (const std::string& name : strangers(rule, children, base_of(one.path))) {
        promise(std::count(children.begin(), children.end(), name) == 1, "strangers are there");
      }
    }
  }
  const LockState state = state_of(*LockName::parse("k"), "zk://h", present);
  promise(state.holders.size() + state.waiters.size() == present.size(), "everybody is shown");
}

void take_in(std::string_view text) {
  Names children;
  std::map<std::string, Node> nodes;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string name(take_until(line, '\t'));
    read_data(line);
    static_cast<void>(asks_to_release(line));
    static_cast<void>(name_of_directory("/app", "/app/" + name));
    static_cast<void>(name_of_part(name));
    if (name.empty() || std::count(children.begin(), children.end(), name) > 0) continue;
    Node node{"/k/" + name, {}, std::string(line)};
    node.stat.czxid = static_cast<std::int64_t>(children.size() / 2);  // one transaction may have made two
    node.stat.ephemeral_owner = 1;
    children.push_back(name);
    nodes["/k/" + name] = std::move(node);
  }
  judge_directory(children);
  show_directory(children, nodes);
}

}  // namespace
}  // namespace dlock::zookeeper

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dlock::zookeeper::take_in(dlock::as_text(data, size));
  return 0;
}
