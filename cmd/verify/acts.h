// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace dlock {

/// One line of a history: who did what when. All who write have opened one file with O_APPEND and make a line one
/// write(2), so that the order of lines is the order of acts. The times are those of one machine's boot clock.
///
///     NANOSECONDS WHO WHAT [WORD...]
struct Act {
  enum class What {
    kAsk,     ///< a run was started: KEY exclusive|shared|permits fair|any direct|proxied
    kQueued,  ///< it said that it waits, and at which place if it came for one
    kBegin,   ///< its command runs: TOKEN SLOT, each "-" if there is none
    kTick,    ///< the command still runs
    kTerm,    ///< it was asked to end, and goes on
    kEnd,     ///< the command has done its work
    kGone,    ///< the run has ended: exit N|signal N [MESSAGE]
    kHit,     ///< something is done to it: the name of the fault
    kHealed,  ///< that is over
  };
  TimePoint at{};
  std::string who;  ///< "x.3.12": key, worker, round; "net" and "hook" for what is done to all
  What what = What::kTick;
  std::string words;  ///< the rest of the line
};

/// nullopt for a line that is torn, or not of a history.
std::optional<Act> parse_act(std::string_view line);

/// With its newline. Control characters in `words` become blanks.
std::string act_line(const Act& act);

/// "BEGIN"
std::string_view act_name(Act::What what);

}  // namespace dlock
