// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock force-release KEY: shows the holder, asks for the key to be typed (on a terminal) or wants --yes, frees
/// exactly what was shown. 0 also if it was free already, 75 if the holder is not the one of --token or changed
/// meanwhile, 64 if nobody confirmed. The answer is read from `input`, the question goes where the log goes.
int force_release_command(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out,
                          int input = 0);

/// The same where the lock is on a screen already: what is asked below it (its last line is to be completed), and what
/// an answer does. The text says what was freed, Invalid that it was the wrong answer, Busy that the holder changed.
std::string free_question(const LockState& state);
Result<std::string> free_if_confirmed(const LockState& shown, const std::string& typed, const Options& options,
                                      LockAdmin& backend, const Runtime& runtime);

}  // namespace dlock
