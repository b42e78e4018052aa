// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/lock/names.h"
#include "lib/base/result.h"
#include "lib/config/backend_url.h"
#include "lib/lock/holder.h"

namespace dlock::zookeeper {

/// ?recipe=: whose protocol is spoken.
enum class Recipe {
  kCurator,         ///< InterProcessMutex; readers of InterProcessReadWriteLock; permits of InterProcessSemaphoreV2
  kRw,              ///< Curator InterProcessReadWriteLock
  kSemaphoreMutex,  ///< Curator InterProcessSemaphoreMutex
  kKazoo,           ///< WriteLock, which is a Lock too, and ReadLock
  kSimple,          ///< one ephemeral node that has the key's name
};
Recipe recipe_of(const BackendUrl& url);
const char* recipe_name(Recipe recipe);
/// Unsupported for a recipe that has no leases without a process (standing_leases.h).
Result<void> check_leases(Recipe recipe);

/// How a directory says who holds. By all rules but the last two a contender waits for those with lower numbers that it
/// sees (rules.cpp); dlock sees more than Curator, whose classes do not see each other.
enum class Rule {
  kExclusive,     ///< of dlock, among Curator's nodes
  kShared,        ///< the same
  kCuratorMutex,  ///< Curator's own
  kCuratorWrite,
  kCuratorRead,
  kKazooWrite,
  kKazooRead,
  kCuratorLease,  ///< every child counts, ours included
  kOneNode,       ///< the creator of the node holds
};

/// One directory in which an acquisition queues. Two where a semaphore is taken after a gate.
struct QueueDirectory {
  std::string directory;
  Rule rule = Rule::kExclusive;
  Family family = Family::kCuratorMutex;
  int permits = 0;
  std::string name = {};  ///< kOneNode: the node's whole name; the others get numbers
  /// Where those stand who take the same key in the other way, by permits or not: who came there before us, goes first.
  std::string rivals = {};
};

/// The queues of one acquisition, the gate first; what is held is the last one. Unsupported for a mode that the recipe
/// does not have.
Result<std::vector<QueueDirectory>> queues_of(Recipe recipe, const std::string& directory, Mode mode, int permits);

/// Whether it is the turn of an acquisition in a queue, and if not which nodes to watch; from the names in a directory
/// alone.
struct QueueTurn {
  enum class Kind {
    kHolds,
    kWaits,      ///< until `watch` goes, or the list of children changes
    kGone,       ///< our node is missing
    kDisagrees,  ///< a contender before us has another number of permits, or none
  };
  Kind kind = Kind::kWaits;
  std::string watch = {};  ///< a name in the directory, or a path; empty: the list of children
  /// Leases before ours that no other dlock between them and us looks after: to be removed when they are over. The
  /// same.
  std::vector<std::string> leases = {};
};

/// The contenders in a directory, from the names of its children, which outlive this: sorted once, so that holds() of
/// each of them looks at few others. Pure.
class Contenders {
 public:
  explicit Contenders(const std::vector<std::string>& children);

  struct One {
    NodeName parsed;
    std::reference_wrapper<const std::string> name;
  };
  /// Those whose names have a number, by that.
  const std::vector<One>& sorted() const { return sorted_; }

  /// `own`: the name of a node.
  QueueTurn judge(Rule rule, const std::string& own, int permits) const;

  /// Whether judge() says so. REQUIRES: the node is among the children.
  bool holds(Rule rule, const std::string& own, int permits) const;

 private:
  std::size_t end_before(const std::string& own) const;
  bool is_blocked(Rule rule, const std::string& own) const;
  const std::string* nearest(Rule rule, const std::string& own, std::int64_t least) const;
  std::vector<std::string> leases_left_to(Rule rule, const std::string& own) const;

  const std::vector<std::string>& children_;
  std::vector<One> sorted_;
  std::array<std::optional<std::int64_t>, 6> first_of_;  ///< the lowest number of each family
};

/// One judgement. Pure.
QueueTurn judge(Rule rule, const std::vector<std::string>& children, const std::string& own, int permits);

/// The rule by which the contender with this node waits.
Rule rule_of(const NodeName& node);

/// Curator's contender with the lowest number but `own`; nullopt if there is none. Pure.
std::optional<std::string> first_contender(const std::vector<std::string>& children, const std::string& own = {});

bool is_reader(Family family);

/// Contenders that do not exclude one under `rule`, or are not excluded by it, although one of the two is not a reader:
/// one node for each such family. Pure.
std::vector<std::string> strangers(Rule rule, const std::vector<std::string>& children, const std::string& own);

}  // namespace dlock::zookeeper
