// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/lock/holder.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// Who we are, as a store keeps it beside a hold: host, pid of the supervisor (our parent), user and `reason`, with a
/// control character in between. What `acquire` takes has the process to which it is left, or 0, behind the pid.
std::string who_text(const std::string& reason, std::optional<pid_t> left_to = {});

/// What who_text() wrote, of a holder who has this slot: one more part.
std::string with_slot(std::string who, const std::string& slot);

/// Puts what who_text() and with_slot() wrote into `party`, which holds if it has its token already. Whatever else
/// stands there does no harm.
void add_who(Participant& party, std::string_view text);
/// The slot alone; empty if there is none.
std::string slot_of(std::string_view who);

}  // namespace dlock
