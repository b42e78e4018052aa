// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  kOneNode,       ///< whoever has created the node holds
};

/// One directory in which an acquisition queues. Two where a semaphore is taken behind a gate.
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

/// `own`: our nodes' names, which are all numbered except under kKazooLease. Pure.
Verdict judge(Rule rule, const std::vector<std::string>& children, const std::vector<std::string>& own, int permits);

/// The rule by which a contender with these nodes, all of one acquisition, waits.
Rule rule_of(const std::vector<NodeName>& nodes);

/// Whether an acquisition under `rule` waits for a node of `family` with a lower number than its own.
bool is_seen_by(Rule rule, Family family);

/// Whether Curator's mutex and write lock wait for ever for a node of this name: it is no contender's, and sorts before
/// all numbers. Pure.
bool is_in_curators_way(const std::string& name);

/// Contenders that do not exclude one under `rule`, or are not excluded by it, although one of the two is no reader:
/// one node for each such family. Pure.
std::vector<std::string> strangers(Rule rule, const std::vector<std::string>& children,
                                   const std::vector<std::string>& own);

}  // namespace dlock::zookeeper
