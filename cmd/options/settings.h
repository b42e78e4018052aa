// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "cmd/options/arguments.h"
#include "cmd/options/environment.h"
#include "lib/config/config.h"

namespace dlock {

/// The keys that may stand in [defaults], [backend.NAME] or [key."PATTERN"], out of the option table.
std::span<const ConfigKey> config_keys();

/// Where the value of an option stands in a Config: section "" or "defaults", and its key (an option without a
/// configuration key stands under its own name, where no file can put anything).
std::string_view config_section(const OptionRow& row);
std::string_view config_key(const OptionRow& row);
/// The key of an option in [key."PATTERN"].
std::string_view key_of_lock(const OptionRow& row);

/// Merges flags, environment and the configuration files, key by key: flag > DLOCK_* > --config FILE >
/// $XDG_CONFIG_HOME/dlock (else ~/.config) > /etc/dlock, and in each conf.d/*.toml, from the last to the first, before
/// config.toml. Misconfigured for the first mistake in a file, Denied for a file with a password that others can read,
/// or of somebody else's; for `config check` both are left in the Config, for `doctor` the second, and for who goes on
/// the first, unless it may be what names the store.
Result<Config> merge_settings(const Arguments& arguments, const Environment& environment);

/// `dlock config check`: a mistake is no reason to stop.
bool finds_all_mistakes(const Arguments& arguments);

}  // namespace dlock
