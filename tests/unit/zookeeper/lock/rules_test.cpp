// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/rules.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dlock::zookeeper::rules_test {

namespace {

/// Whoever queues in one directory, under its own protocol.
struct Kind {
  const char* name;
  Rule rule;
  Family family;
  bool is_ours = false;
};

const Kind kMutex{"Curator mutex", Rule::kCuratorMutex, Family::kCuratorMutex};
const Kind kRead{"Curator read", Rule::kCuratorRead, Family::kCuratorRead};
const Kind kWrite{"Curator write", Rule::kCuratorWrite, Family::kCuratorWrite};
const Kind kKazooRead{"kazoo ReadLock", Rule::kKazooRead, Family::kKazooRead};
const Kind kKazooWrite{"kazoo WriteLock", Rule::kKazooWrite, Family::kKazooLock};
const Kind kOurs{"dlock", Rule::kExclusive, Family::kCuratorMutex, true};
const Kind kOurWrite{"dlock, rw", Rule::kExclusive, Family::kCuratorWrite, true};
const Kind kOurRead{"dlock, shared", Rule::kShared, Family::kCuratorRead, true};
const std::vector<Kind> kKinds{kMutex, kRead, kWrite, kKazooRead, kKazooWrite, kOurs, kOurWrite, kOurRead};

/// A directory as the server numbers it.
class Directory {
 public:
  std::string enter(const Kind& kind) {
    const Guid guid = kind.is_ours ? Guid::random() : Guid("0a6bd1f20cc14a0c9b4e6b6e8a9d0001");
    std::string digits = std::to_string(next_++);
    digits.insert(0, 10 - digits.size(), '0');
    children.insert(children.begin(), guid.node(kind.family) + digits);  // a list comes in no order
    return children.front();
  }
  void leave(const std::string& own) { std::erase(children, own); }
  std::vector<std::string> children;

 private:
  int next_ = 0;
};

QueueTurn::Kind kind_of(const Kind& kind, const Directory& directory, const std::string& own) {
  return judge(kind.rule, directory.children, own, 0).kind;
}

}  // namespace

TEST_CASE("Who is shut out by whom in one directory is what the real clients have shown") {
  // Rows hold, columns contend, both in the order of kKinds: '.' is shut out, 'x' holds as well.
  const char* const matrix[] = {
      /* Curator mutex  */ ".xxxx...",
      /* Curator read   */ "xx.xx..x",
      /* Curator write  */ "x..xx...",
      /* kazoo ReadLock */ "xxxx.xxx",
      /* kazoo Write    */ "xxx..xxx",
      /* dlock          */ ".xxxx...",
      /* dlock, rw      */ "x..xx...",
      /* dlock, shared  */ "xx.xx..x",
  };
  for (std::size_t row = 0; row < kKinds.size(); ++row) {
    for (std::size_t column = 0; column < kKinds.size(); ++column) {
      CAPTURE(kKinds[row].name);
      CAPTURE(kKinds[column].name);
      Directory directory;
      const auto holder = directory.enter(kKinds[row]);
      REQUIRE(kind_of(kKinds[row], directory, holder) == QueueTurn::Kind::kHolds);
      const auto contender = directory.enter(kKinds[column]);
      const bool shut_out = kind_of(kKinds[column], directory, contender) == QueueTurn::Kind::kWaits;
      CHECK(shut_out == (matrix[row][column] == '.'));
      CHECK(kind_of(kKinds[row], directory, holder) == QueueTurn::Kind::kHolds);  // nobody takes it away
      CHECK(rule_of(*parse_node_name(contender)) == kKinds[column].rule);
      directory.leave(holder);
      CHECK(kind_of(kKinds[column], directory, contender) == QueueTurn::Kind::kHolds);
    }
  }
}

TEST_CASE("Whoever waits watches the nearest one before it that it must wait for, and nobody else") {
  Directory directory;
  const auto reader = directory.enter(kRead);
  const auto first = directory.enter(kOurs);
  const auto second = directory.enter(kOurs);
  directory.enter(kKazooWrite);
  const auto third = directory.enter(kMutex);
  const auto watched = [&](const Kind& kind, const std::string& own) {
    return judge(kind.rule, directory.children, own, 0).watch;
  };
  CHECK(watched(kOurs, first) == reader);
  CHECK(watched(kOurs, second) == first);
  CHECK(watched(kMutex, third) == second);
}

TEST_CASE("Out of 256 dlocks in a queue, one is woken by each hand-over") {
  Directory directory;
  std::vector<std::string> queue;
  for (int i = 0; i < 256; ++i) queue.push_back(directory.enter(kOurs));
  for (std::size_t i = 1; i < queue.size(); ++i) {
    CHECK(judge(kOurs.rule, directory.children, queue[i], 0).watch == queue[i - 1]);
  }
}

TEST_CASE("The same number twice counts as before us") {
  const std::vector<std::string> children{"_c_a-__WRIT__0000000005", "_c_b-lock-0000000005"};
  CHECK(judge(Rule::kExclusive, children, "_c_b-lock-0000000005", 0).kind == QueueTurn::Kind::kWaits);
}

TEST_CASE("A node of ours that is missing is told, whatever the rule") {
  for (const Kind& kind : kKinds) {
    Directory directory;
    const auto own = directory.enter(kind);
    directory.leave(own);
    CHECK(kind_of(kind, directory, own) == QueueTurn::Kind::kGone);
  }
}

TEST_CASE("Curator's semaphore counts every child, ours included") {
  const std::vector<std::string> two{"_c_a-lease-0000000001", "anything"};
  CHECK(judge(Rule::kCuratorLease, two, "_c_a-lease-0000000001", 2).kind == QueueTurn::Kind::kHolds);
  const QueueTurn waits = judge(Rule::kCuratorLease, two, "_c_a-lease-0000000001", 1);
  CHECK(waits.kind == QueueTurn::Kind::kWaits);
  CHECK(waits.watch.empty());  // the list of children
}

TEST_CASE("Each recipe makes the nodes of its families, in its directories, and refuses the modes that it has not") {
  struct Row {
    Recipe recipe;
    std::size_t exclusive, shared, permits;  ///< queues; 0: refused
  };
  for (const Row& row : {
           Row{Recipe::kCurator, 1, 1, 2},
           Row{Recipe::kRw, 1, 1, 0},
           Row{Recipe::kSemaphoreMutex, 2, 0, 0},
           Row{Recipe::kKazoo, 1, 1, 0},
           Row{Recipe::kSimple, 1, 0, 0},
       }) {
    CAPTURE(recipe_name(row.recipe));
    const std::pair<Mode, std::size_t> modes[] = {
        {Mode::kExclusive, row.exclusive}, {Mode::kShared, row.shared}, {Mode::kPermits, row.permits}};
    for (const auto& [mode, count] : modes) {
      const auto queues = queues_of(row.recipe, "/a/b", mode, 2);
      CHECK((queues ? queues->size() : 0) == count);
      if (!queues) CHECK(queues.error().code == ErrorCode::kUnsupported);
    }
  }
  const auto semaphore = *queues_of(Recipe::kCurator, "/a/b", Mode::kPermits, 3);
  CHECK(semaphore[0].directory == "/a/b/locks");
  CHECK(semaphore[1].directory == "/a/b/leases");
  CHECK(semaphore[1].permits == 3);
}

TEST_CASE("Whoever waits looks after the leases before it, as far as no other dlock before it does") {
  Directory directory;
  const auto lease = [&](const Kind& kind) {
    const std::string node = directory.enter(kind);
    return directory.children.front() = lease_name(node);
  };
  using Leases = std::vector<std::string>;
  const auto first = lease(kOurRead);
  const auto second = lease(kOurRead);
  directory.enter(kMutex);  // waits, and removes nothing
  const auto ours = directory.enter(kOurs);
  const auto turn = judge(Rule::kExclusive, directory.children, ours, 0);
  CHECK(turn.kind == QueueTurn::Kind::kWaits);
  CHECK(turn.leases == Leases{second, first});
  const auto later = directory.enter(kOurs);
  CHECK(judge(Rule::kExclusive, directory.children, later, 0).leases.empty());
  const auto reader = directory.enter(kOurRead);
  const auto third = lease(kOurRead);
  CHECK(judge(Rule::kShared, directory.children, reader, 0).leases.empty());
  directory.leave(later);
  directory.leave(reader);
  directory.leave(ours);
  const auto last = directory.enter(kOurRead);
  CHECK(judge(Rule::kShared, directory.children, last, 0).leases == Leases{third, second, first});
  const auto counted =
      judge(Rule::kCuratorLease, {lease_name(Guid::random().node(Family::kLease) + "0000000001"), ours}, ours, 1);
  CHECK(counted.kind == QueueTurn::Kind::kWaits);
  CHECK(counted.leases.size() == 1);
}

TEST_CASE("Neighbours that cannot exclude each other are found, one of each family") {
  Directory directory;
  directory.enter(kKazooWrite);
  const auto kazoo = directory.enter(kKazooWrite);
  directory.enter(kOurRead);
  const auto ours = directory.enter(kOurs);
  const auto found = [&](const Kind& kind, const std::string& own) {
    std::vector<Family> families;
    for (const std::string& name : strangers(kind.rule, directory.children, own)) {
      families.push_back(parse_node_name(name)->family);
    }
    std::sort(families.begin(), families.end());
    return families;
  };
  CHECK(found(kOurs, ours) == std::vector{Family::kKazooLock});
  directory.enter(kRead);
  directory.enter(kWrite);
  directory.enter(kMutex);
  const auto reader = directory.enter(kOurRead);
  CHECK(found(kOurs, ours) == std::vector{Family::kCuratorRead, Family::kCuratorWrite, Family::kKazooLock});
  CHECK(found(kKazooWrite, kazoo) == std::vector{Family::kCuratorMutex, Family::kCuratorRead, Family::kCuratorWrite});
  // A plain mutex knows no readers.
  directory.leave(kazoo);
  CHECK(found(kOurRead, reader) == std::vector{Family::kCuratorMutex, Family::kKazooLock});
}

}  // namespace dlock::zookeeper::rules_test
