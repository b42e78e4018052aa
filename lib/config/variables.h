// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The value of a variable of the environment, nullopt if it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// `text` with the value of NAME for each ${NAME}, and for each ${NAME:-OTHERWISE} that of NAME or, if that is unset or
/// empty, OTHERWISE as it stands; $${ is a ${ that means nothing. Misconfigured for a variable that is not set, and for
/// what has another form.
Result<std::string> expand_variables(std::string_view text, const VariableLookup& variables);

}  // namespace dlock
