// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The line of dlock for a command of another lock tool ("unlock", "ls", "logs"); empty: none of them has it.
std::string_view foreign_command(std::string_view word);

/// The same for an action of `dlock stock` ("list", "cancel").
std::string_view foreign_stock_action(std::string_view word);

/// The refusal of an option of another lock tool, by its name without dashes or by its letter: what stands for it here.
std::optional<Error> foreign_option(std::string_view name);

/// A number as in flock's `flock -n 9`: a descriptor of the script, where dlock has a KEY.
bool is_descriptor(std::string_view word);

/// The advice for that form.
inline constexpr std::string_view kRestOfScript =
    "for the rest of a script, flock's descriptor form, write: "
    "eval \"$(dlock acquire --shell --watch-pid $$ KEY)\" || exit";

}  // namespace dlock
