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

/// What `dlock verify` does to a run, or to the network. --faults takes the names of their families (fault_family()).
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
  kRevoke,      ///< `dlock revoke` of a lock that is held
  kHook,        ///< the user's command
};

/// As histories and reports call it: "kill-run".
std::string_view fault_name(Fault fault);
/// As --faults calls it: "kill".
std::string_view fault_family(Fault fault);
/// Whether it is made by the proxy.
bool is_of_network(Fault fault);

/// The value of --faults: the faults of the families that `text` names, separated by commas, or of "all" or "none".
/// Invalid for an unknown name.
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

/// One fault of a schedule.
struct PlannedFault {
  Duration at{0};  ///< counted from the start
  Fault fault = Fault::kKillRun;
  Duration lasts{0};         ///< of a fault that has an end: how long
  std::uint64_t target = 0;  ///< a number by chance: chooses one of the runs that are there then
  int messages = 0;          ///< kCut: how many messages are passed on before
  bool requests = false;     ///< kCut, kOneWay: whether it is the direction to the server
};

struct SchedulePlan {
  std::uint64_t seed = 0;
  Duration duration{0};
  Duration ttl{0};
  std::vector<Fault> faults;  ///< besides kHook
  bool hook = false;
};

/// The schedule, in the order of time: about three faults in each ttl, and the hook three times in all. Pure: the same
/// plan has the same schedule.
std::vector<PlannedFault> plan_faults(const SchedulePlan& plan);

/// What one worker does next: pause, then take a lock and hold it.
struct Order {
  std::string key;  ///< behind kVerifyPrefix: "x", "q", "p", "w" (--replace, --newest), "a" (--at-least), "o" (--once);
                    ///< "s" is the stock
  Mode mode = Mode::kExclusive;
  bool fair = false;
  Supersedes supersedes = Supersedes::kNothing;
  Duration kept{0};       ///< "a": --at-least, "o": --remember
  std::string slot = {};  ///< --once
  bool stubborn = false;  ///< its command goes on when it is asked to end
  Duration hold{0};
  Duration long_hold{0};  ///< in its place while the hook is at work
  Duration pause{0};      ///< before it
  Duration ttl{0};        ///< half are so long that a lost release or wake-up is not made good by a lease
};

/// What a store can do besides exclusive locks.
struct Abilities {
  bool shared = false;
  bool fair = false;
  bool permits = false;
  bool stock = false;
  bool revoke = false;
  bool supersede = false;
  bool at_least = false;
  bool once = false;
};

/// How many slots of --once there are, "0" and so on: each runs again as soon as it is forgotten. One more is for
/// the question whether the store remembers them.
inline constexpr std::uint64_t kVerifySlots = 4;

/// The lease of some rounds where others have `ttl`.
Duration long_ttl(Duration ttl);

/// By chance: one of the things that the store can do.
Order next_order(Dice& dice, const Abilities& can, Duration ttl);

/// How many may hold the key dlock.verify/p at once.
inline constexpr int kVerifyPermits = 2;
/// What the names of its keys and of its stock (dlock.verify/s) begin with.
inline constexpr char kVerifyPrefix[] = "dlock.verify/";
inline constexpr const char* kVerifyKeys[] = {"x", "q", "p", "w", "a", "o", "one"};

/// A dlock command line that takes the lock of `order`, from "run" to the key, without "--" and the command.
std::vector<std::string> run_words(const Order& order, const std::string& url);

/// The same order as the history tells it (Act::What::kAsk).
std::string ask_words(const Order& order, bool proxied);

/// Whether a run has said that it waits, in `said`: what it wrote to stderr so far, with --progress always. With
/// `in_line` only a message counts that names its place in the store's queue.
bool says_that_it_waits(std::string_view said, bool in_line);

}  // namespace dlock
