// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/lock_name.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// One entry of DLOCK_HELD: a lock that a process above us claims to hold. A claim proves nothing: the store confirms
/// or ignores it. The text is a list of store|key|owner|token|secret entries with a blank between them, '%', '|' and
/// blanks written as %XX.
struct HeldEntry {
  std::string store;
  std::string key;
  HeldClaim claim;
};

/// Entries that cannot be read are left out: a stale or foreign variable is not a reason to fail.
std::vector<HeldEntry> parse_held(std::string_view text);

/// `outer` (a DLOCK_HELD text, may be empty) with `locks` added; an entry for the same store and key is replaced.
std::string format_held(std::string_view outer, const std::vector<HeldLock>& locks);

/// The claim for this lock, if there is one.
std::optional<HeldClaim> find_claim(std::string_view held, const std::string& store, const LockName& name);

}  // namespace dlock
