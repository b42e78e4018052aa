// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// Runs a program of PATH (`words`, without a nullptr behind them) to its end. Its stdout is what `read` has to read to
/// the end; stdin and stderr are ours. Its exit status, 128 + N for signal N; System if it cannot be started.
Result<int> run_program(std::vector<const char*> words, const std::function<void(int fd)>& read);

}  // namespace dlock
