// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace dlock {

/// For a configuration file that is not TOML: what can be said and saved by looking at its lines. Lines count from 1.

/// Key and value of the line `wait = 10m`, whose value is no TOML; empty if it has another form, as a value that could
/// be a secret has.
std::pair<std::string_view, std::string_view> unquoted_assignment(std::string_view text, std::size_t line);

/// `[key."deploy/prod"]` of the line `[key.deploy/prod]`; empty if it has another form.
std::string quoted_header(std::string_view text, std::size_t line);

/// Leaves a line that is wrong out of `text`: only that one if it assigns a value, which becomes blanks; otherwise with
/// all that follows, because a section or a list may depend on it. Other lines keep their numbers. Something is gone
/// afterwards. True if that may have named the backend of some key.
bool leave_out(std::string& text, std::size_t line);

}  // namespace dlock
