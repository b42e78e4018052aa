// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/lock/who_text.h"

namespace dlock::redis {

/// The record of a holder, the same in every layout: the value of the field OWNER in the hash
/// NativeNames::holders, "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO". The scripts write it by the server's clock. An
/// entry is one acquisition: the outer one and those that joined it. INFO is who_text(), of a permit with_slot().
///
/// Fills `participant` from the record; returns its lock-delay in ms.
std::int64_t add_record(Participant& participant, std::string_view record);

}  // namespace dlock::redis
