// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "cmd/options/arguments.h"
#include "cmd/options/environment.h"
#include "lib/config/config.h"

namespace dlock {

/// The keys that may stand in [defaults], out of the option table.
std::span<const ConfigKey> config_keys();

/// Where the value of an option stands in a Config: section "" or "defaults", and its key (an option without a
/// configuration key stands under its own name, where no file can put anything).
std::string_view config_section(const OptionRow& row);
std::string_view config_key(const OptionRow& row);

/// Merges flags, environment and the configuration files, key by key: flag > DLOCK_* > --config FILE >
/// $XDG_CONFIG_HOME/dlock/config.toml (else ~/.config) > /etc/dlock/config.toml. Denied for a file with a password that
/// others can read, or of somebody else's; for `doctor` that is left in the Config's faults().
Result<Config> merge_settings(const Arguments& arguments, const Environment& environment);

}  // namespace dlock
