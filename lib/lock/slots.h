// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// Each holder of a permit has a slot that no other holder has: of the names that it may have, the first that is free.
/// The store decides it in the same step in which it gives the permit, and keeps it in the holder's record; so it is
/// free again exactly when the permit is. Whatever names the others have chosen, of N names N - 1 other holders leave
/// one. A record without a slot (of a dlock that gave none) has none.

inline constexpr std::size_t kLongestSlot = 32;       ///< bytes; what the record of a local lock has room for
inline constexpr std::size_t kMostNamedSlots = 1000;  ///< they are sent to a keeper in one message

/// "db1,db2,db3": 1 to kMostNamedSlots names of letters, digits and . _ - : / @, each once. Invalid.
Result<std::vector<std::string>> parse_slots(std::string_view list);

/// The list that parse_slots() reads; empty for no names.
std::string slots_text(const std::vector<std::string>& names);

/// The first of `names` that is not in `taken`; without names, of "0", "1", ... below `permits`. Empty if all are.
std::string free_slot(const std::vector<std::string>& names, int permits, const std::vector<std::string>& taken);

}  // namespace dlock
