// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cmd/bench/latencies.h"
#include "cmd/verify/chronicle.h"

namespace dlock {

/// What a history is measured by.
struct Bounds {
  Duration lease{0};       ///< within which the lock of somebody who died is free
  Duration kill_after{0};  ///< within which a keeper has ended the command of a supervisor that died
  Duration wake{0};        ///< within which a waiter has a lock that was given back to it
  Duration slack{0};       ///< what this machine may be late by, on top of each of them
  int permits = 2;
};

/// A promise that was broken, and the least of the history that shows it.
struct Breach {
  std::string what;
  std::vector<std::string> history = {};
  std::vector<std::string> sections = {};  ///< whose it is
};

/// One promise, and how it was kept.
struct Judgement {
  std::string promise;  ///< "one holder at a time"
  std::string name;     ///< for programs: "exclusion"
  std::string unit;     ///< what `tried` counts
  std::size_t tried = 0;
  std::vector<Breach> breaches = {};
};

/// How long a lock was free although somebody waited for it.
struct Gaps {
  Latencies hand_over;                        ///< given back, and nothing had been done to anybody
  std::map<std::string, Latencies> recovery;  ///< after what was done to its holder
};

// Each of these is pure, and looks at the whole history.

/// Nobody acts while another one holds the lock: exclusive beside nothing, shared beside shared. Excused is who was
/// stopped as a whole beyond its lease, if it acts under the lower token and is ended within `kill_after`.
Judgement check_exclusion(const Chronicle& chronicle, const Bounds& bounds);
Judgement check_sharing(const Chronicle& chronicle, const Bounds& bounds);
/// At most so many at once, each with a slot of its own.
Judgement check_permits(const Chronicle& chronicle, const Bounds& bounds);
/// Each exclusive grant of a key has a higher token than all before it.
Judgement check_tokens(const Chronicle& chronicle);
/// Whoever was in the queue before another one asked is served before it.
Judgement check_order(const Chronicle& chronicle);
/// A lock is taken by a waiter soon after it was given back, or after its holder died.
Judgement check_hand_over(const Chronicle& chronicle, const Bounds& bounds);
/// The lock of a holder that died is free within its bound.
Judgement check_recovery(const Chronicle& chronicle, const Bounds& bounds);
/// A run ends with 0 unless something was done to it; none waits for ever.
Judgement check_ends(const Chronicle& chronicle, const Bounds& bounds);

Gaps measure_gaps(const Chronicle& chronicle, const Bounds& bounds);

}  // namespace dlock
