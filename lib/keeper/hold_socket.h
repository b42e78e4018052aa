// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/owner.h"

namespace dlock {

// The socket at which the keeper of a hold is found by the runs inside it. Its name is abstract (one network namespace)
// and shows half of the owner, as all names do to everybody; the other half is said by who enters. Each end is of the
// same user as the other one, or one of them is root (sudo).

/// Of the keeper; invalid if there can be none.
UniqueFd listen_for_entries(const Owner& owner);
/// The next connection; invalid: there is none, and errno says why.
UniqueFd accept_entry(const UniqueFd& listener);

/// Of a run inside.
struct HoldConnection {
  UniqueFd socket;   ///< invalid: no keeper is to be reached there
  pid_t keeper = 0;  ///< its pid
};
HoldConnection connect_to_hold(const Owner& owner);

/// How often the hold of `owner` has been entered, the outermost run included, if its keeper is to be reached and says
/// it at once.
std::optional<int> ask_for_count(const Owner& owner, Clock& clock);
inline constexpr std::string_view kCount = "count";  ///< the question: count owner=; the answer: count entries=

}  // namespace dlock
