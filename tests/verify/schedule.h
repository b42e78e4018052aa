// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock {

/// What is done to a run, or to the server.
enum class Fault {
  kKillRun,     ///< SIGKILL of the supervisor; its command dies with it
  kKillKeeper,  ///< of the keeper program
  kKillBoth,
  kStopKeeper,  ///< SIGSTOP, for up to two leases
  kStopRun,     ///< of supervisor and command: the keeper goes on renewing
  kStopAll,     ///< of all three
  kHook,        ///< the user's command
};

/// As histories and reports call it: "kill-run".
std::string_view fault_name(Fault fault);
bool is_stop(Fault fault);

/// The value of --faults: kill, stop, all or none; nullopt for another one.
std::optional<std::vector<Fault>> parse_faults(std::string_view text);

/// The same numbers for the same seed, on every machine.
using Dice = std::mt19937_64;

/// One fault of a schedule.
struct PlannedFault {
  Duration at{0};  ///< counted from the start
  Fault fault = Fault::kKillRun;
  Duration lasts{0};         ///< of a fault that has an end: how long
  std::uint64_t target = 0;  ///< a number by chance: chooses one of the runs that are there then
};

struct VerifyPlan {
  std::uint64_t seed = 0;
  Duration duration{0};
  Duration ttl{0};
  int workers = 0;
  std::string hook = {};           ///< a shell's command; empty: none
  std::vector<Fault> faults = {};  ///< besides the hook
};

/// The schedule, in the order of time: about three faults in each ttl, and the hook three times in all. Pure: the same
/// plan has the same schedule.
std::vector<PlannedFault> plan_faults(const VerifyPlan& plan);

/// What one worker does next.
struct Order {
  std::string key;  ///< behind kKeyPrefix: "x", "q" or "p"
  Mode mode = Mode::kExclusive;
  bool fair = false;
  Duration hold{0};
};

/// What a store can do besides exclusive locks.
struct Abilities {
  bool shared = false;
  bool fair = false;
  bool permits = false;
};

/// How many may hold the key "p" at once.
inline constexpr int kPermits = 2;
inline constexpr char kKeyPrefix[] = "verify/";

/// By chance: one of the things that the store can do.
Order next_order(Dice& dice, const Abilities& can, Duration ttl);

/// A dlock command line that takes the lock of `order`, from "run" to the key, without "--" and the command.
std::vector<std::string> run_words(const Order& order, Duration ttl);

/// A duration as a word of a command line: "1500ms".
std::string ms_word(Duration length);

}  // namespace dlock
