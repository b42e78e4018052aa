// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dlock {

/// `dlock __section FILE NAME SECONDS [stubborn]`, which no help shows: the command that the workers of `dlock verify`
/// run under their locks. Appends BEGIN, a TICK every 10 ms and, when the time is over, END to the history FILE. When
/// it gets TERM it ends, or, if it is stubborn, writes TERM and goes on. Returns the exit status.
int section_command(const std::vector<std::string>& words, char** environment);

}  // namespace dlock
