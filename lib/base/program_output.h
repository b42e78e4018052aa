// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// Runs a program found in PATH (`words`, without a closing nullptr) to its end. `read` gets its stdout and must read
/// it to the end; stdin and stderr are ours. Returns its exit status, 128 + N for signal N, -1 if that was lost
/// (reap()); System if it cannot be started.
Result<int> run_program(std::vector<const char*> words, const std::function<void(int fd)>& read);

}  // namespace dlock
