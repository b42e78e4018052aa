// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/rules.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "backends/zookeeper/lock/slots.h"

namespace dlock::zookeeper::rules_test {

namespace {

/// Whoever queues in one directory, under its own protocol.
struct Kind {
  const char* name;
  Rule rule;
  std::vector<Family> families;
  int permits = 0;
};

const Kind kMutex{"Curator mutex", Rule::kCuratorMutex, {Family::kCuratorMutex}};
const Kind kRead{"Curator read", Rule::kCuratorRead, {Family::kCuratorRead}};
const Kind kWrite{"Curator write", Rule::kCuratorWrite, {Family::kCuratorWrite}};
const Kind kLock{"kazoo Lock", Rule::kKazooLock, {Family::kKazooLock}};
const Kind kKazooRead{"kazoo ReadLock", Rule::kKazooRead, {Family::kKazooRead}};
const Kind kKazooWrite{"kazoo WriteLock", Rule::kKazooWrite, {Family::kKazooLock}};
const Kind kBridge{
    "bridge", Rule::kBridgeExclusive, {Family::kCuratorMutex, Family::kKazooLock, Family::kCuratorWrite}};
const Kind kBridgeRead{"bridge read", Rule::kBridgeShared, {Family::kKazooRead, Family::kCuratorRead}};
const Kind kBridgePermits{"bridge permits", Rule::kBridgePermits, {Family::kKazooRead, Family::kCuratorRead}, 2};
const std::vector<Kind> kKinds{kMutex, kRead, kWrite, kLock, kKazooRead, kKazooWrite, kBridge, kBridgeRead};

/// A directory as the server numbers it.
class Directory {
 public:
  std::vector<std::string> enter(const Kind& kind) {
    const Guid guid = Guid::random();
    std::vector<std::string> own;
    for (const Family family : kind.families) {
      std::string digits = std::to_string(next_++);
      digits.insert(0, 10 - digits.size(), '0');
      own.push_back(guid.node(family, kind.permits) + digits);
    }
    children.insert(children.begin(), own.begin(), own.end());  // a list comes in no order
    return own;
  }
  void leave(const std::vector<std::string>& own) {
    for (const std::string& name : own) std::erase(children, name);
  }
  std::vector<std::string> children;

 private:
  int next_ = 0;
};

Verdict::Kind kind_of(const Kind& kind, const Directory& directory, const std::vector<std::string>& own) {
  return judge(kind.rule, directory.children, own, kind.permits).kind;
}

}  // namespace

TEST_CASE("Who is shut out by whom in one directory is what the real clients have shown") {
  // Rows hold, columns contend, both in the order of kKinds: '.' is shut out, 'x' holds as well.
  const char* const matrix[] = {
      /* Curator mutex  */ ".xxxxx.." /* and the bridges see it */,
      /* Curator read   */ "xx.xxx.x",
      /* Curator write  */ "x..xxx..",
      /* kazoo Lock     */ "xxx.....",
      /* kazoo ReadLock */ "xxxxx..x",
      /* kazoo Write    */ "xxx.....",
      /* bridge         */ "........",
      /* bridge read    */ "xx.xx..x",
  };
  for (std::size_t row = 0; row < kKinds.size(); ++row) {
    for (std::size_t column = 0; column < kKinds.size(); ++column) {
      CAPTURE(kKinds[row].name);
      CAPTURE(kKinds[column].name);
      Directory directory;
      const auto holder = directory.enter(kKinds[row]);
      REQUIRE(kind_of(kKinds[row], directory, holder) == Verdict::Kind::kHolds);
      const auto contender = directory.enter(kKinds[column]);
      const bool shut_out = kind_of(kKinds[column], directory, contender) == Verdict::Kind::kWaits;
      CHECK(shut_out == (matrix[row][column] == '.'));
      CHECK(kind_of(kKinds[row], directory, holder) == Verdict::Kind::kHolds);  // nobody takes it away
      directory.leave(holder);
      CHECK(kind_of(kKinds[column], directory, contender) == Verdict::Kind::kHolds);
    }
  }
}

TEST_CASE("Whoever waits watches the nearest one before it that it must wait for, and nobody else") {
  Directory directory;
  const auto reader = directory.enter(kRead);
  const auto first = directory.enter(kBridge);
  const auto second = directory.enter(kBridge);
  const auto third = directory.enter(kMutex);
  const auto watched = [&](const Kind& kind, const std::vector<std::string>& own) {
    return judge(kind.rule, directory.children, own, 0).watch;
  };
  CHECK(watched(kBridge, first) == reader);
  CHECK(watched(kBridge, second) == std::vector<std::string>{first.back()});
  CHECK(watched(kMutex, third) == std::vector<std::string>{second.front()});
}

TEST_CASE("Out of 256 bridges in a queue, one is woken by each hand-over") {
  Directory directory;
  std::vector<std::vector<std::string>> queue;
  for (int i = 0; i < 256; ++i) queue.push_back(directory.enter(kBridge));
  for (std::size_t i = 1; i < queue.size(); ++i) {
    const Verdict verdict = judge(kBridge.rule, directory.children, queue[i], 0);
    REQUIRE(verdict.watch.size() == 1);
    CHECK(verdict.watch.front() == queue[i - 1].back());
    CHECK_FALSE(verdict.watch_children);
  }
}

TEST_CASE("A child that sorts before the numbers blocks Curator's mutex and write lock, as it blocks Curator itself") {
  struct Row {
    const char* child;
    bool blocks;
  };
  for (const Row& row :
       {Row{"0", true}, Row{"0-meta", true}, Row{"-x", true}, Row{"!", true}, Row{"meta", false}, Row{"zz", false}}) {
    CAPTURE(row.child);
    for (const Kind& kind : {kMutex, kWrite}) {
      Directory directory;
      directory.children = {row.child};
      const auto own = directory.enter(kind);
      CHECK((kind_of(kind, directory, own) == Verdict::Kind::kWaits) == row.blocks);
    }
    for (const Kind& kind : {kRead, kLock, kKazooRead, kKazooWrite, kBridge, kBridgeRead}) {
      Directory directory;
      directory.children = {row.child};
      const auto own = directory.enter(kind);
      CHECK(kind_of(kind, directory, own) == Verdict::Kind::kHolds);
    }
  }
}

TEST_CASE("Permits: as many hold as there are, in order; a writer waits for all of them, and they wait for it") {
  Directory directory;
  const auto a = directory.enter(kBridgePermits);
  const auto b = directory.enter(kBridgePermits);
  const auto c = directory.enter(kBridgePermits);
  const auto d = directory.enter(kBridgePermits);
  CHECK(kind_of(kBridgePermits, directory, a) == Verdict::Kind::kHolds);
  CHECK(kind_of(kBridgePermits, directory, b) == Verdict::Kind::kHolds);
  CHECK(kind_of(kBridgePermits, directory, c) == Verdict::Kind::kWaits);
  const Verdict last = judge(kBridgePermits.rule, directory.children, d, 2);
  CHECK(last.kind == Verdict::Kind::kWaits);
  CHECK(last.watch == std::vector<std::string>{b.back(), c.back()});  // when two of three have gone, one of these has
  const auto writer = directory.enter(kBridge);
  const auto later = directory.enter(kBridgePermits);
  directory.leave(a);
  CHECK(kind_of(kBridgePermits, directory, c) == Verdict::Kind::kHolds);
  CHECK(kind_of(kBridgePermits, directory, d) == Verdict::Kind::kWaits);
  for (const auto& own : {b, c, d}) directory.leave(own);
  CHECK(kind_of(kBridge, directory, writer) == Verdict::Kind::kHolds);
  CHECK(kind_of(kBridgePermits, directory, later) == Verdict::Kind::kWaits);
}

TEST_CASE("Those who share in another way than somebody before them disagree; those before them do not mind") {
  const Kind three{"three permits", Rule::kBridgePermits, kBridgePermits.families, 3};
  for (const Kind& other : {three, kBridgeRead}) {
    CAPTURE(other.name);
    Directory directory;
    const auto first = directory.enter(kBridgePermits);
    const auto second = directory.enter(other);
    CHECK(kind_of(other, directory, second) == Verdict::Kind::kDisagrees);
    CHECK(kind_of(kBridgePermits, directory, first) == Verdict::Kind::kHolds);
    directory.leave(first);
    CHECK(kind_of(other, directory, second) == Verdict::Kind::kHolds);
  }
}

TEST_CASE("The same number twice counts as before us") {
  const std::vector<std::string> children{"_c_a-__WRIT__0000000005", "_c_b-lock-0000000005"};
  CHECK(judge(Rule::kBridgeExclusive, children, {"_c_b-lock-0000000005"}, 0).kind == Verdict::Kind::kWaits);
}

TEST_CASE("A node of ours that is missing is told, whatever the rule") {
  for (const Kind& kind : kKinds) {
    Directory directory;
    const auto own = directory.enter(kind);
    directory.leave({own.front()});
    CHECK(kind_of(kind, directory, own) == Verdict::Kind::kGone);
  }
}

TEST_CASE("Curator's semaphore counts every child, ours included; kazoo's counts before ours is made") {
  const std::vector<std::string> two{"_c_a-lease-0000000001", "anything"};
  CHECK(judge(Rule::kCuratorLease, two, {"_c_a-lease-0000000001"}, 2).kind == Verdict::Kind::kHolds);
  const Verdict waits = judge(Rule::kCuratorLease, two, {"_c_a-lease-0000000001"}, 1);
  CHECK(waits.kind == Verdict::Kind::kWaits);
  CHECK(waits.watch_children);
  CHECK(judge(Rule::kKazooLease, two, {}, 3).kind == Verdict::Kind::kGone);  // there is room: make it
  CHECK(judge(Rule::kKazooLease, two, {}, 2).kind == Verdict::Kind::kWaits);
  CHECK(judge(Rule::kKazooLease, two, {"anything"}, 1).kind == Verdict::Kind::kHolds);
}

TEST_CASE("Each recipe makes the nodes of its families, in its directories, and refuses the modes that it has not") {
  struct Row {
    Recipe recipe;
    bool exclusive, shared, permits;
    std::size_t stages;
  };
  for (const Row& row : {
           Row{Recipe::kBridge, true, true, true, 1},
           Row{Recipe::kMutex, true, false, false, 1},
           Row{Recipe::kSemaphoreMutex, true, false, false, 2},
           Row{Recipe::kRw, true, true, false, 1},
           Row{Recipe::kSemaphore, true, false, true, 2},
           Row{Recipe::kKazooLock, true, false, false, 1},
           Row{Recipe::kKazooRw, true, true, false, 1},
           Row{Recipe::kKazooSemaphore, true, false, true, 2},
           Row{Recipe::kSimple, true, false, false, 1},
       }) {
    CAPTURE(recipe_name(row.recipe));
    const std::pair<Mode, bool> modes[] = {
        {Mode::kExclusive, row.exclusive}, {Mode::kShared, row.shared}, {Mode::kPermits, row.permits}};
    for (const auto& [mode, has_it] : modes) {
      const auto stages = stages_of(row.recipe, "/a/b", mode, 2);
      CHECK(static_cast<bool>(stages) == has_it);
      if (!stages) CHECK(stages.error().code == ErrorCode::kUnsupported);
      else CHECK(stages->size() == row.stages);
    }
  }
  const auto semaphore = *stages_of(Recipe::kSemaphore, "/a/b", Mode::kPermits, 3);
  CHECK(semaphore[0].directory == "/a/b/locks");
  CHECK(semaphore[1].directory == "/a/b/leases");
  CHECK(semaphore[1].permits == 3);
  const auto kazoo = *stages_of(Recipe::kKazooSemaphore, "/a/b", Mode::kPermits, 3);
  CHECK(kazoo[0].directory == "/a/b-__lock__");
  CHECK(kazoo[1].directory == "/a/b");
}

TEST_CASE("Neighbours that cannot exclude each other are found, one of each family") {
  Directory directory;
  directory.enter(kLock);
  const auto lock = directory.enter(kLock);
  directory.enter(kBridgeRead);
  const auto bridge = directory.enter(kBridge);
  const auto mutex = directory.enter(kMutex);
  const auto reader = directory.enter(kBridgeRead);
  const auto found = [&](const Kind& kind, const std::vector<std::string>& own) {
    std::vector<Family> families;
    for (const std::string& name : strangers(kind.rule, directory.children, own)) {
      families.push_back(parse_node_name(name)->family);
    }
    std::sort(families.begin(), families.end());
    return families;
  };
  CHECK(found(kBridge, bridge).empty());
  CHECK(found(kMutex, mutex) ==
        std::vector{Family::kCuratorRead, Family::kCuratorWrite, Family::kKazooLock, Family::kKazooRead});
  // A plain mutex knows no readers.
  CHECK(found(kBridgeRead, reader) == std::vector{Family::kCuratorMutex});
}

TEST_CASE("The holders of permits are those whose nodes come first, whatever else stands there") {
  const Guid a = Guid::random();
  const Guid b = Guid::random();
  const Guid c = Guid::random();
  const auto node = [](const Guid& guid, const char* number) { return guid.node(Family::kCuratorRead, 2) + number; };
  const std::vector<std::string> children{node(c, "0000000009"), a.node(Family::kKazooRead) + "0000000003",
                                          node(a, "0000000004"), "junk",
                                          node(b, "0000000007"), c.node(Family::kCuratorMutex) + "0000000001"};
  CHECK(permit_nodes(children, 2) == std::vector<std::string>{node(a, "0000000004"), node(b, "0000000007")});
  CHECK(permit_nodes(children, 9).size() == 3);
  CHECK(permit_nodes({}, 2).empty());
}

TEST_CASE("a reader whose name says writer, too, does not wait for itself") {
  const std::string both = "_c_0a6bd1f2-0cc1-4a0c-9b4e-6b6e8a9d0001-__WRIT__-__READ__0000000003";
  CHECK(judge(Rule::kCuratorRead, {both}, {both}, 0).kind == Verdict::Kind::kHolds);
}

}  // namespace dlock::zookeeper::rules_test
