// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/lock/holder.h"
#include "lib/lock/lock_spec.h"

namespace dlock::zookeeper {

/// The data of our nodes, which say who holds or waits: one line of UTF-8, "dlock owner=... host=... pid=... user=...
/// mode=... permits=... slot=... delay_ms=... revoked_by=... wait=... left_to=... lasts_ms=... token=... command=...
/// reason=...", values percent-encoded. For people, for re-entry, for force-release, and for whose slot is which; never
/// decides who holds, but for how long a lease does. `revoked` may be a ran_word() instead; `token` is set where the
/// node has taken the place of the one that it names.
struct HolderRecord : Participant {
  int permits = 0;
  Duration lock_delay{0};
  std::optional<std::int64_t> left_to;  ///< as in LockSpec
  Duration lasts{0};                    ///< of a lease (standing_leases.h): from the creation of its node on
};

/// The record for this process's parent, the dlock that asked for `spec`. Called in a keeper.
HolderRecord record_of(const LockSpec& spec);

std::string encode(const HolderRecord& data);

/// nullopt for data that is not ours.
std::optional<HolderRecord> decode_record(std::string_view text);

/// Whether `data` is what Curator, or a recipe of ZooKeeper's own manual, writes into a node to ask its holder to
/// release the lock (revocation).
bool asks_to_release(std::string_view data);

}  // namespace dlock::zookeeper
