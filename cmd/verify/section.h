// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dlock {

/// The hidden `dlock __section FILE NAME DURATION [stubborn]`: what the workers of `dlock verify` run under their
/// locks. Writes BEGIN, a TICK every 10 ms and, when the time is over, END to FILE. A stubborn one writes TERM and goes
/// on when it is asked to end. Returns the exit status.
int section_command(const std::vector<std::string>& words, char** environment);

}  // namespace dlock
