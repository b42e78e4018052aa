// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

/// Of a process that `dlock verify` started, which has no configuration files: it would judge what they say.
inline constexpr std::string_view kVerifyMark = "VERIFIED_BY_DLOCK";

/// What dlock reads from its environment, collected in one pass. Points into it.
struct Environment {
  std::vector<std::pair<std::string_view, std::string_view>>
      ours;  ///< DLOCK_*, set and not empty, but for DLOCK_BACKEND
  std::string_view home;
  std::string_view config_home;  ///< XDG_CONFIG_HOME, if absolute
  std::string_view credentials;  ///< CREDENTIALS_DIRECTORY
  std::string_view term;
  char** all = nullptr;         ///< as it was given
  bool reads_no_files = false;  ///< it has the mark of verify
  bool no_colour = false;       ///< NO_COLOR is set and not empty
  bool force_colour = false;    ///< CLICOLOR_FORCE is set, and neither empty nor 0

  /// The value of a DLOCK_* variable; empty if it is not set.
  std::string_view get(std::string_view name) const;
  /// The value of any variable; nullopt if it is not set.
  std::optional<std::string> find(std::string_view name) const;
};

/// `environment` is NULL-terminated, as environ is. An empty variable counts as unset, but DLOCK_BACKEND is a mistake
/// then: a script that lost its store must not lock on its machine alone.
Environment read_environment(char** environment);

/// Says what is odd about the DLOCK_* variables: one that no option reads but that is nearly the name of one (a typo
/// would otherwise go unseen), or that an option without a variable suggests. A warning and no refusal, because the
/// environment is shared with programs and versions that we do not know. What dlock sets for its commands is known.
std::vector<std::string> odd_variables(const Environment& environment);

}  // namespace dlock
