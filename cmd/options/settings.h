// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/options/arguments.h"
#include "lib/config/config.h"

namespace dlock {

/// What dlock reads from its environment, collected in one pass. Points into it.
struct Environment {
  std::vector<std::pair<std::string_view, std::string_view>>
      ours;  ///< DLOCK_*, set and not empty, but for DLOCK_BACKEND
  std::string_view home;
  std::string_view config_home;  ///< XDG_CONFIG_HOME, if absolute
  std::string_view credentials;  ///< CREDENTIALS_DIRECTORY
  std::string_view term;
  char** all = nullptr;       ///< as it was given
  bool no_colour = false;     ///< NO_COLOR is set and not empty
  bool force_colour = false;  ///< CLICOLOR_FORCE is set, and neither empty nor 0

  /// The value of a DLOCK_* variable; empty if it is not set.
  std::string_view get(std::string_view name) const;
  /// The value of any variable; nullopt if it is not set.
  std::optional<std::string> find(std::string_view name) const;
};

/// `environment` is NULL-terminated, as environ is. An empty variable counts as unset, but DLOCK_BACKEND is a mistake
/// then: a script that lost its store must not lock on its machine alone.
Environment read_environment(char** environment);

/// Warnings about DLOCK_* variables that no option reads but that nearly have the name of one, or that of an option
/// without a variable. No refusal: the environment is shared with programs and versions that we do not know.
std::vector<std::string> odd_variables(const Environment& environment);

/// The keys that may stand in [defaults], [backend.NAME] or [key."PATTERN"], out of the option table.
std::span<const ConfigKey> config_keys();

/// Where the value of an option stands in a Config: section "" or "defaults", and its key (an option without a
/// configuration key stands under its own name, where no file can put anything).
std::string_view config_section(const OptionRow& row);
std::string_view config_key(const OptionRow& row);

/// Merges flag > DLOCK_* > --config FILE > $XDG_CONFIG_HOME/dlock (else ~/.config) > /etc/dlock, key by key.
/// Misconfigured for the first mistake in a file, Denied for a file with a password that others can read or that is
/// another user's; for `config check` both are left in the Config, for `doctor` the second, and for
/// goes_on_with_mistakes() the first, unless it may be what names the store.
Result<Config> merge_settings(const Arguments& arguments, const Environment& environment);

/// `dlock config check`: a mistake is no reason to stop.
bool finds_all_mistakes(const Arguments& arguments);

/// A command that looks at locks or frees them uses what can be read of the configuration, and says what was left out.
bool goes_on_with_mistakes(const Arguments& arguments);

/// The KEYs among the words of a command line, as they were typed; of `config show KEY` that one.
std::vector<std::string_view> lock_keys(const Arguments& arguments);

/// Puts into the section kChosenForKeys what the sections [key."PATTERN"] say of `keys`, setting by setting out of the
/// most specific that has it. Misconfigured if they say different things of several keys, and neither flag nor variable
/// decides: the options of a call are one for all.
Result<void> choose_key_settings(Config& config, const std::vector<std::string_view>& keys, Command command);

}  // namespace dlock
