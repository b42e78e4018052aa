// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/show/output.h"
#include "cmd/verify/proxy.h"
#include "cmd/verify/sandbox.h"
#include "cmd/verify/schedule.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// What a run of `dlock verify` is to do.
struct VerifyPlan {
  std::uint64_t seed = 0;
  Duration duration{0};
  Duration ttl{0};
  int workers = 0;
  Abilities can = {};        ///< of the store
  std::string direct = {};   ///< the URL of the store, as -b takes it
  std::string proxied = {};  ///< the same through the proxy; empty: there is none
  std::string hook = {};     ///< a shell's command; empty: none
  std::vector<PlannedFault> faults = {};
};

/// What drive() did, besides writing the history.
struct Driven {
  std::map<Fault, int> done;                   ///< how many of each fault there were
  int missed = 0;                              ///< planned faults for which no run was there
  Duration late{0};                            ///< the longest time by which this process was woken too late
  std::vector<std::string> hooks_failed = {};  ///< calls of the hook that ended with a status: "hook fault-1: ..."
  std::optional<Error> failure = {};           ///< why there is no verdict
  int interrupted = 0;  ///< the signal that ended it before the plan's duration was over; 0: none
};

/// Starts runs in the sandbox, one after the other for each worker, makes the planned faults, and waits until the last
/// run and the hook have ended; what never ends is killed. The first HUP, INT or TERM lets no more rounds begin, the
/// second one ends this process. Null: `network` without a proxy, `line` without a terminal. Single-threaded.
Driven drive(const VerifyPlan& plan, const Sandbox& sandbox, const Proxy* network, Clock& clock, SignalInbox& signals,
             TerminalLine* line);

}  // namespace dlock
