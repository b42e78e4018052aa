// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock {

/// What is done to a run, or to the network. The names of their families are what --faults takes.
enum class Fault {
  kKillRun,     ///< SIGKILL of the supervisor; its command dies with it
  kKillKeeper,  ///< of the keeper program
  kKillBoth,
  kStopKeeper,  ///< SIGSTOP, for up to two leases
  kStopRun,     ///< of supervisor and command: the keeper goes on renewing
  kStopAll,     ///< of all three
  kCut,         ///< every connection is reset behind the n-th message
  kStall,       ///< connections are open, nothing arrives
  kDelay,       ///< everything arrives late
  kOneWay,      ///< one direction arrives, the other does not
  kHook,        ///< the user's command
};

/// "kill-run": as it stands in histories and figures.
std::string_view fault_name(Fault fault);
/// "kill": as --faults has it.
std::string_view fault_family(Fault fault);
/// Does the proxy make it?
bool is_of_network(Fault fault);

/// The faults of the families that `text` names, with commas in between; "all", "none". Invalid for an unknown one.
Result<std::vector<Fault>> parse_faults(std::string_view text);

/// Numbers that look random and are the same for the same seed, on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 to `end` - 1. REQUIRES: `end` > 0.
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  Duration between(Duration least, Duration most);

 private:
  std::uint64_t state_;
};

/// One thing to do.
struct PlannedFault {
  Duration at{0};  ///< after the start
  Fault fault = Fault::kKillRun;
  Duration lasts{0};         ///< of what does not end by itself
  std::uint64_t target = 0;  ///< which of those that are there
  int messages = 0;          ///< cut: how many are let through before
  bool requests = false;     ///< cut, one way: the direction to the server
};

struct SchedulePlan {
  std::uint64_t seed = 0;
  Duration duration{0};
  Duration ttl{0};
  std::vector<Fault> faults;  ///< besides kHook
  bool hook = false;
};

/// What is done when, in time order: about three faults a ttl, and the hook three times in all. Pure.
std::vector<PlannedFault> plan_faults(const SchedulePlan& plan);

/// What one worker does next.
struct Order {
  std::string key;  ///< "x", "q", "p"; "s": the stock
  Mode mode = Mode::kExclusive;
  bool fair = false;
  Duration hold{0};
  Duration long_hold{0};  ///< in its place while the hook is at work
  Duration pause{0};      ///< before it
};

/// Which of its keys a store is fit for.
struct Abilities {
  bool shared = false;
  bool fair = false;
  bool permits = false;
  bool stock = false;
};

Order next_order(Dice& dice, const Abilities& can, Duration ttl);

}  // namespace dlock
