// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/lock/holder.h"

namespace dlock {

/// Who we are, as a store keeps it beside a hold: host, pid of the supervisor (our parent), user and `reason`, with a
/// control character in between.
std::string who_text(const std::string& reason);

/// Puts what who_text() wrote into `party`. Whatever else stands there does no harm.
void add_who(Participant& party, std::string_view text);

}  // namespace dlock
