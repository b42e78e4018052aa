// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cmd/options/arguments.h"
#include "lib/config/config.h"

namespace dlock {

/// The section of a Config in which there is what holds for the KEYs of this call.
inline constexpr std::string_view kChosenForKeys = "key";

/// The KEYs among the words of a command line, as they were typed; of `config show KEY` that one.
std::vector<std::string_view> lock_keys(const Arguments& arguments);

/// Puts into the section kChosenForKeys what the sections [key."PATTERN"] say of `keys`, setting by setting out of the
/// most specific that has it. Misconfigured if they say different things of several keys, and neither flag nor variable
/// decides: the options of a call are one for all.
Result<void> choose_key_settings(Config& config, const std::vector<std::string_view>& keys, Command command);

}  // namespace dlock
