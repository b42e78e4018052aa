// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/show/output.h"
#include "cmd/verify/history.h"
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

/// How many may hold the key dlock.verify/p at once.
inline constexpr int kVerifyPermits = 2;
/// What the names of its keys and of its stock (dlock.verify/s) begin with.
inline constexpr char kVerifyPrefix[] = "dlock.verify/";
inline constexpr const char* kVerifyKeys[] = {"x", "q", "p", "w", "a", "o", "one"};

/// The words of a dlock command line that takes the lock of `order`: "run", the options and the key, without "--" and
/// the command.
std::vector<std::string> run_words(const Order& order, const std::string& url);

/// The same order as the history tells it (Act::What::kAsk).
std::string ask_words(const Order& order, bool proxied);

/// Whether a run has said that it waits, in `said`: what it wrote to stderr so far, with --progress always. With
/// `in_line` only a message counts that names its place in the store's queue.
bool says_that_it_waits(std::string_view said, bool in_line);

/// Whether a hook that ended with `status` has done its work: nullopt if so. Otherwise what is to be said of it; it is
/// Misconfigured if the shell found nothing to run, and no call of it ever will.
std::optional<Error> hook_failure(const std::string& phase, int status);

/// A network that fails when it is told to. At most one fault at a time: heal() ends the one that was started.
class FaultyNetwork {
 public:
  virtual ~FaultyNetwork() = default;
  virtual void start(const PlannedFault& fault) = 0;
  virtual void heal() = 0;
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

/// Starts runs in the sandbox, one after the other for each worker, for the plan's duration; makes the planned faults;
/// and waits until the last run and the hook have ended. What never ends is killed; of a run the history tells that.
/// The first HUP, INT or TERM lets no more rounds begin, the second one ends this process. `network` is null if there
/// is no proxy; `line`, if there is a terminal, where it shows how far it is. Single-threaded.
Driven drive(const VerifyPlan& plan, const Sandbox& sandbox, FaultyNetwork* network, Clock& clock, SignalInbox& signals,
             TerminalLine* line);

}  // namespace dlock
