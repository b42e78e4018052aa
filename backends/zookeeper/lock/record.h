// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// What our nodes say of whom they belong to: one line of UTF-8, "dlock owner=... host=... pid=... user=... mode=...
/// permits=... slot=... delay_ms=... ended=1 freed_by=... heard=1 left_to=... command=... reason=...", values
/// percent-encoded. For people, for re-entry, for force-release, and for whose slot is which; never decides who holds.
struct HolderRecord {
  std::string owner;
  std::string host;
  std::int64_t pid = 0;
  std::string user;
  Mode mode = Mode::kExclusive;
  int permits = 0;
  Duration lock_delay{0};
  std::string reason;
  std::string slot = {};                     ///< of a holder of a permit (slots.h)
  bool ended = false;                        ///< whose hold it is has given it back; those that have entered it go on
  std::string freed_by = {};                 ///< an operator is about to delete the node: who, and why
  std::optional<std::int64_t> left_to = {};  ///< as in LockSpec
  std::string command = {};                  ///< as in LockSpec
  bool heard = false;                        ///< whose hold it is has read freed_by
};

/// Of this process's parent, which is the dlock that asked for `spec`.
HolderRecord record_of(const LockSpec& spec);

std::string encode(const HolderRecord& data);

/// nullopt for data that is not ours.
std::optional<HolderRecord> decode_record(std::string_view text);

/// What Curator, and the recipes of ZooKeeper's own manual, write into a node to ask its holder for the lock.
bool asks_to_release(std::string_view data);

}  // namespace dlock::zookeeper
