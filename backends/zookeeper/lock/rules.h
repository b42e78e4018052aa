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
  kBridge,          ///< a node of each family at once: Curator's and kazoo's locks and read/write locks together
  kMutex,           ///< Curator InterProcessMutex
  kSemaphoreMutex,  ///< Curator InterProcessSemaphoreMutex
  kRw,              ///< Curator InterProcessReadWriteLock
  kSemaphore,       ///< Curator InterProcessSemaphoreV2
  kKazooLock,
  kKazooRw,
  kKazooSemaphore,
  kSimple,  ///< one ephemeral node that has the key's name
};
Recipe recipe_of(const BackendUrl& url);
const char* recipe_name(Recipe recipe);

/// How a directory says who holds.
enum class Rule {
  kBridgeExclusive,
  kBridgeShared,
  kBridgePermits,
  kCuratorMutex,
  kCuratorWrite,
  kCuratorRead,
  kKazooLock,
  kKazooWrite,
  kKazooRead,
  kCuratorLease,  ///< every child counts, ours included
  kKazooLease,    ///< every child counts; ours is made only when there is room
  kOneNode,       ///< the creator of the node holds
};

/// One directory in which an acquisition queues. Two where a semaphore is taken after a gate.
struct Stage {
  std::string directory;
  Rule rule = Rule::kBridgeExclusive;
  std::vector<Family> families;  ///< a node of each, made by one transaction
  int permits = 0;
  /// kKazooLease, kOneNode: the node's whole name ("" : the GUID). The others get numbers.
  std::string name = {};
};

/// The stages of one acquisition, the gate first; what is held is the last one. Unsupported for a mode that the recipe
/// does not have.
Result<std::vector<Stage>> stages_of(Recipe recipe, const std::string& directory, Mode mode, int permits);

/// Whether an acquisition holds its stage, and if not which nodes to watch; from the names in a directory alone.
struct Verdict {
  enum class Kind {
    kHolds,
    kWaits,      ///< until one of `watch` goes, or the list of children changes
    kGone,       ///< a node of ours is missing
    kDisagrees,  ///< a contender before us has another number of permits, or none
  };
  Kind kind = Kind::kWaits;
  std::vector<std::string> watch = {};
  bool watch_children = false;
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

  /// `own`: the nodes' names of one acquisition, which are all numbered except under kKazooLease.
  Verdict judge(Rule rule, const std::vector<std::string>& own, int permits) const;

  /// Whether judge() says so. REQUIRES: the nodes are among the children.
  bool holds(Rule rule, const std::vector<std::string>& own, int permits) const;

 private:
  std::size_t end_before(const std::vector<std::string>& own) const;
  bool is_blocked(Rule rule, const std::vector<std::string>& own) const;
  const std::string* nearest(Rule rule, const std::vector<std::string>& own, std::int64_t least) const;
  bool disagree(const std::vector<std::string>& own, int permits) const;
  std::vector<std::string> shares_before(const std::vector<std::string>& own, int permits) const;
  const std::string& before_in_line(Rule rule, const std::string& own) const;

  const std::vector<std::string>& children_;
  std::vector<One> sorted_;
  std::array<std::optional<std::int64_t>, 6> first_of_;  ///< the lowest number of each family
  std::optional<NodeName> first_reader_;
  std::optional<NodeName> other_reader_;  ///< the first one that shares in another way than that
  std::vector<const One*> shares_;        ///< one node of each acquisition that shares by permits
  // The first ones in the orders of Curator's locks, where every child counts.
  const std::string* first_mutex_ = nullptr;
  const std::string* first_in_line_ = nullptr;
  const std::string* first_writer_ = nullptr;
};

/// One judgement. Pure.
Verdict judge(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own, int permits);

/// The rule by which a contender with these nodes, all of one acquisition, waits.
Rule rule_of(const std::vector<NodeName>& nodes);

/// Whether Curator's mutex and write lock wait for ever for a node of this name: it is not a contender's, and sorts
/// before all numbers. Pure.
bool is_in_curators_way(const std::string& name);

/// Contenders that do not exclude one under `rule`, or are not excluded by it, although one of the two is not a reader:
/// one node for each such family. Pure.
std::vector<std::string> strangers(Rule rule, const std::vector<std::string>& children,
                                   const std::vector<std::string>& own);

}  // namespace dlock::zookeeper
