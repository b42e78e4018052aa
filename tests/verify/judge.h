// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/verify/history.h"

namespace dlock {

/// The limits that a history has to keep to.
struct Bounds {
  Duration lease{0};  ///< of a section that names none: how long the lock of a dead holder may stay taken
  Duration wake{0};   ///< how long after a release a waiter may still be without the lock: a third of the lease at most
  Duration late{0};   ///< added to each of these: how late this machine was
  /// A dead holder is known by the end of its session, which comes after 3/2 of its lease: dlock-zookeeper(7).
  bool in_session = false;
  Duration slack{0};  ///< added beside trouble: how late it may be
};

/// One case in which a promise was broken, and what of the history shows it.
struct Breach {
  std::string what;  ///< one sentence
  std::vector<std::string> who = {};
  std::size_t from = 0;  ///< line of the history
  std::size_t to = 0;
};

/// One promise, how often the history put it to the test, and where it was broken.
struct Judgement {
  std::string promise;    ///< "one holder at a time"
  std::string unit;       ///< what `tried` counts: "holds"
  std::size_t tried = 0;  ///< cases in which it could have been broken; 0: the history says nothing about it
  std::vector<Breach> breaches = {};
};

// Each of these is pure: it judges one promise by the whole history.

/// Nobody acts under an exclusive lock while somebody else holds it, shared or not. One case is excused: a holder that
/// was stopped as a whole for longer than its lease, acts under a lower token than the next holder or in a store
/// without tokens, and is ended within --kill-after.
Judgement check_exclusion(const VerifyHistory& history, const Bounds& bounds);
/// At most kPermits act at once, each with a slot that no other one has.
Judgement check_permits(const VerifyHistory& history, const Bounds& bounds);
/// Each exclusive grant of a key has a higher token than all before it.
Judgement check_tokens(const VerifyHistory& history);
/// Whoever had a place in the queue before somebody else asked gets the lock before them.
Judgement check_order(const VerifyHistory& history);
/// While a section waits, a lock that was released is taken within `bounds.wake`. Counts the gaps whose limit is
/// shorter than what is left of the lease, which would excuse a lost release.
Judgement check_hand_over(const VerifyHistory& history, const Bounds& bounds);
/// The lock of a holder that died is taken by a waiter within its lease, or --kill-after where its keeper lives on.
/// Counts the deaths beside which no other trouble was, and of those with a keeper what its lease would not excuse.
Judgement check_recovery(const VerifyHistory& history, const Bounds& bounds);
/// A run ends with 0 unless something was done to it; none waits for ever.
Judgement check_ends(const VerifyHistory& history, const Bounds& bounds);

}  // namespace dlock
