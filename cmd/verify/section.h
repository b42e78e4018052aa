// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dlock {

inline constexpr int kHistoryFull = 93;  ///< an exit status that nothing else here has

/// `dlock __section FILE NAME SECONDS [stubborn]`, which no help shows: the command that the workers of `dlock verify`
/// run under their locks. Appends BEGIN, a TICK every 10 ms and, when the time is over, END to the history FILE. When
/// it gets TERM it ends, or, if it is stubborn, writes TERM and goes on. Returns the exit status; kHistoryFull if FILE
/// could not be written.
int section_command(const std::vector<std::string>& words, char** environment);

}  // namespace dlock
