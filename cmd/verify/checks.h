// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cmd/bench/latencies.h"
#include "cmd/verify/history.h"

namespace dlock {

/// The limits that a history has to keep to.
struct Bounds {
  Duration lease{0};  ///< of a section that names none: how long the lock of a dead holder may stay taken
  Duration wake{0};   ///< how long after a release a waiter may still be without the lock: a third of the lease at most
  Duration late{0};   ///< added to each of these: how late this machine was
  Duration slack{0};  ///< added beside trouble: how late it may be
  int permits = 2;    ///< how many may hold a lock with permits at once
};

/// One case in which a promise was broken, with as few lines of the history as show it.
struct Breach {
  std::string what;  ///< one sentence for people
  std::vector<std::string> history = {};
  std::vector<std::string> sections = {};  ///< the names of those that took part
};

/// One promise, how often the history put it to the test, and where it was broken.
struct Judgement {
  std::string promise;    ///< for people: "one holder at a time"
  std::string name;       ///< for programs: "exclusion"
  std::string unit;       ///< what `tried` counts: "grants"
  std::size_t tried = 0;  ///< cases in which it could have been broken; 0: the history says nothing about it
  std::vector<Breach> breaches = {};
};

/// How long locks were free while somebody waited for them.
struct Gaps {
  Latencies hand_over;                        ///< after a release, where no fault was at work
  std::map<std::string, Latencies> recovery;  ///< after a fault that its holder had, by the name of the fault
};

// Each of these is pure: it judges one promise by the whole history.

/// Nobody acts under an exclusive lock while somebody else holds it. One case is excused: a holder that was stopped as
/// a whole for longer than its lease, acts under a lower token than the next holder, and is ended within --kill-after.
Judgement check_exclusion(const VerifyHistory& history, const Bounds& bounds);
/// The same for locks that are also taken shared: shared holders may act beside each other, and beside nobody else.
Judgement check_sharing(const VerifyHistory& history, const Bounds& bounds);
/// At most `bounds.permits` act at once, each with a slot that no other one has.
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

/// What --at-least keeps is granted to nobody else in that time: counted from the grant, which was when its run asked,
/// or when the one before it was over, at the earliest. Not of a lock that was lost.
Judgement check_kept(const VerifyHistory& history);
/// A slot that has run with success does not begin again while it is remembered; and of one that has not run, no run
/// says that it has.
Judgement check_slots(const VerifyHistory& history, const Bounds& bounds);
/// A run that others of its kind have superseded for longer than `bounds.wake` does not begin.
Judgement check_succession(const VerifyHistory& history, const Bounds& bounds);

Gaps measure_gaps(const VerifyHistory& history, const Bounds& bounds);

// What the judges have in common.

/// A breach in which `who` took part, with the lines of the history from `from` to `to`.
Breach breach(const VerifyHistory& history, std::string what, std::vector<std::string> who, std::size_t from,
              std::size_t to);

/// In milliseconds: a bound of 3 s is exceeded by 3040 ms, which is 3 s as well.
std::string ms_text(Duration length);

/// The sections that got their lock, by key, in the order in which they did. Without those of the stock, which hold no
/// lock.
std::map<std::string, std::vector<const Section*>> begun_by_key(const VerifyHistory& history);

/// Whether there was an outage at any time from `from` to `to` that this section had: of the server, or of the network
/// if it goes through the proxy. An outage counts for a moment longer than it lasts.
bool was_outage(const VerifyHistory& history, const Section& section, TimePoint from, TimePoint to);

/// Whether the lock of `section` was asked back, by a revocation or by a run that replaces: so that it ends with a
/// loss, or before it begins.
bool was_asked_back(const VerifyHistory& history, const Section& section);

/// Whether it was refused, as its own options say: busy with --at-least (which tries once), superseded.
bool gave_way(const VerifyHistory& history, const Section& section);

/// How much longer than usual the lock of `key` may be out of reach from `from` to `to`: for each outage, and each
/// fault of a section of this key but `except`, its length and one lease (that of the section, or else `lease`).
Duration allowance(const VerifyHistory& history, const std::string& key, TimePoint from, TimePoint to, Duration lease,
                   const Section* except = nullptr);

}  // namespace dlock
