// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace dlock {

/// One line of a history: who did what, and when. Every writer has opened the same file with O_APPEND and writes a
/// line by one write(2), so that the order of the lines is the order of the acts.
///
///     NANOSECONDS WHO WHAT [WORD...]       NANOSECONDS: of this machine's CLOCK_BOOTTIME
struct Act {
  enum class What {
    kAsk,     ///< a run was started: KEY exclusive|shared|permits fair|any direct|proxied [LEASE in ms]
    kQueued,  ///< it said that it waits, and at which place if it came for one
    kBegin,   ///< its command runs: TOKEN SLOT, each "-" if there is none
    kTick,    ///< the command still runs
    kTerm,    ///< it was asked to end, and goes on
    kEnd,     ///< the command has done its work
    kGone,    ///< the run has ended: exit N|signal N [MESSAGE]
    kHit,     ///< a fault begins for it: the name of the fault
    kHealed,  ///< that fault is over
  };
  TimePoint at{};
  std::string who;  ///< "x.3.12": key, worker, round; "net" and "hook": faults that everybody has
  What what = What::kTick;
  std::string words;  ///< the rest of the line
};

/// `line` has no newline. nullopt if it is no line of a history, or only a piece of one.
std::optional<Act> parse_act(std::string_view line);

/// The line for a history, with its newline. Control characters in `words` become blanks.
std::string act_line(const Act& act);

/// As it stands in a history: "BEGIN".
std::string_view act_name(Act::What what);

}  // namespace dlock
