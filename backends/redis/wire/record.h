// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/lock/who_text.h"

namespace dlock::redis {

/// What lies beside a lock about each of its holders, in every layout: the value of the field OWNER in the hash
/// NativeNames::holders, "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO". The scripts write it by the server's clock. An
/// entry is one acquisition: the outer one and those that joined it. INFO is who_text(), of a permit with_slot().
///
/// Puts the record into `participant`; gives back its lock-delay in ms.
std::int64_t add_record(Participant& participant, std::string_view record);

}  // namespace dlock::redis
