// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cmd/options/arguments.h"
#include "cmd/options/options.h"
#include "lib/base/result.h"
#include "lib/config/config.h"

namespace dlock {

/// Whoever looks at locks and frees them goes on with what can be read of the configuration, and says what was left
/// out. All others are refused.
bool goes_on_with_mistakes(const Arguments& arguments);

/// Why they, too, are refused if the mistake may be in what names the store, and neither a flag nor the environment
/// names one: looking at another store than the one that is meant is worse than not looking.
std::optional<Error> hidden_backend(const Config& config);

/// The mistake of a flag or of a variable among options.mistakes, which nobody goes on with; nullptr: there is none.
const Error* typed_mistake(const Options& options);

/// For the commands that go on: turns options.mistakes, and those of the files, into warnings (for doctor: findings).
void tell_of_mistakes(Options& options);

}  // namespace dlock
