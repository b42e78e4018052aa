// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/verify/chronicle.h"
#include "cmd/verify/lab.h"
#include "cmd/verify/schedule.h"
#include "lib/base/clock.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// What a run of `dlock verify` is to do.
struct VerifyPlan {
  std::uint64_t seed = 0;
  Duration duration{0};
  Duration ttl{0};
  int workers = 0;
  Abilities can = {};
  std::string direct = {};   ///< the URL of the store, as -b takes it
  std::string proxied = {};  ///< the same through the proxy; empty: there is none
  std::string hook = {};     ///< a shell's command; empty: none
  std::vector<PlannedFault> faults = {};
};

inline constexpr int kVerifyPermits = 2;
/// Its keys: dlock.verify/x, q and p; its stock: dlock.verify/s.
inline constexpr char kVerifyPrefix[] = "dlock.verify/";

/// The options of a run that wants the lock of `order`, from "run" to the key.
std::vector<std::string> run_words(const Order& order, const std::string& url, Duration ttl);

/// Does what a run with --progress always has said so far say that it waits; with `in_line`, as somebody whom the queue
/// of the store has already?
bool says_that_it_waits(std::string_view said, bool in_line);

/// The faults of the network, made by somebody else.
class FaultyNetwork {
 public:
  virtual ~FaultyNetwork() = default;
  virtual void start(const PlannedFault& fault) = 0;
  virtual void heal() = 0;
};

/// What came of it, besides the history.
struct Conducted {
  std::map<Fault, int> done;
  int missed = 0;    ///< nobody was there to be hit
  Duration late{0};  ///< by how much this process was woken too late at worst
  bool interrupted = false;
};

/// Keeps the workers busy for the plan's duration, does to them what is planned, and waits until the last one is done.
/// One thread; who waits for ever is ended, and that is noted. `network` may be null.
Conducted conduct(const VerifyPlan& plan, const Lab& lab, FaultyNetwork* network, Clock& clock, SignalInbox& signals);

}  // namespace dlock
