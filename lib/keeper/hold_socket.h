// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

// The socket at which the keeper of a hold is found by the runs inside it. Its name is abstract (one network
// namespace); it is made from a secret that only the command of the hold is told (DLOCK_HELD), and shows half of that:
// whoever enters says the other half. So nobody can have the name first, nor enter without having been told. The kernel
// says of each end which process it is. Listening is begun by the supervisor, so a run inside, also one of another user
// (sudo), finds one of its own ancestors at the other end; it believes that, or a process of its own user, and nobody
// else.

/// Of the supervisor, for its keeper, before the lock is asked for. `secret`: 32 hex digits. Invalid if there can be
/// none.
UniqueFd listen_for_entries(const Owner& owner, const std::string& secret);

/// Of the keeper: the next connection of its own user or of root; of any user if we are root and it is inside the run
/// of whoever began to listen. Invalid: there is none, and errno says why.
UniqueFd accept_entry(const UniqueFd& listener);

/// Of the keeper, as root, about a connection of another user: the pid at its other end; 0: of any other connection.
/// Only what is below a child of that process is ended on its word: root may do more than it may itself.
pid_t foreign_run(const UniqueFd& connection);

/// Of a run inside. Invalid: nobody is there who is to be believed.
UniqueFd connect_to_hold(const HeldClaim& claim);

/// How often the hold of `owner`, which the store says `pid` has, was entered, the outermost run included, if its
/// keeper is to be reached and says it at once.
std::optional<int> ask_for_count(const Owner& owner, pid_t pid, Clock& clock);
inline constexpr std::string_view kCount = "count";  ///< the question: count; the answer: count entries=

}  // namespace dlock
