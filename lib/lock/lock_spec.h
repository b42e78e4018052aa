// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/fields.h"
#include "lib/base/time.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/owner.h"

namespace dlock {

/// How long to try, with one absolute deadline on the boot clock, made once. What it means: patience.h.
struct WaitPolicy {
  bool once = false;                    ///< -n: one attempt
  std::optional<TimePoint> until = {};  ///< -w: busy after this point; nullopt: wait for ever
  int tries = 0;                        ///< --tries: attempts, 0 = not counted
  Duration retry_interval{0};           ///< --retry-interval: pause between counted attempts
  Duration connect_timeout{0};          ///< how long an unreachable store is asked before it counts as unavailable
  bool has_fallback = false;            ///< something else is tried where this store cannot be reached
};

/// A hold of an ancestor process, as DLOCK_HELD claims it. A claim only: its keeper or the store must confirm it.
struct HeldClaim {
  Owner owner;
  FencingToken token;
  std::string secret = {};  ///< by which its keeper is found (keeper/hold_socket.h); empty: there is none
};

/// Part of a stock to be set aside instead of a lock to be taken: it is sold if the command ends with status 0, and
/// comes back after any other end.
struct StockClaim {
  LockName id;  ///< of the request
  std::int64_t quantity = 1;
  bool lock_segment = false;  ///< the lock of its segment is held as well
};

/// The request of one session. Valid by construction of its parts; the caller has checked ttl against
/// kill-after.
struct LockSpec {
  LockName name;
  Owner owner;
  Mode mode = Mode::kExclusive;
  int permits = 0;                      ///< with Mode::kPermits: at least 1
  std::vector<std::string> slots = {};  ///< with Mode::kPermits: as many names, or none (slots.h)
  bool fair = false;
  Duration ttl = std::chrono::seconds(30);
  Duration renew_interval = std::chrono::seconds(10);
  Duration lock_delay{0};  ///< after an unclean end of this hold the lock stays closed for this long
  Duration at_least{
      0};  ///< the hold lasts at least this long, whatever ends before: the rest is a lease; at most the ttl
  WaitPolicy wait;
  Supersedes supersedes = Supersedes::kNothing;   ///< effect of the wait on others; only in a queue
  bool behind_nobody = false;                     ///< busy if others wait already
  std::string reason;                             ///< shown to those who wait
  std::string command = {};                       ///< command_name() of what is to run; empty: nothing
  std::optional<HeldClaim> ancestor;              ///< re-entry: join this hold if it is confirmed, else ignore it
  std::string secret = {};                        ///< told to those inside of this hold, and to nobody else
  Duration kill_after = std::chrono::seconds(5);  ///< between TERM and KILL, for a keeper that ends an orphaned command
  bool ends_command = true;                       ///< a loss ends the command: a keeper does it when dlock does not
  bool take = true;                               ///< false: only wait until it is free
  std::optional<StockClaim> stock = {};           ///< `name` is that of a stock
  /// `acquire`: keeper of the hold once it has been taken, for showing: 0 none, else this process of --watch-pid.
  std::optional<pid_t> left_to = {};
};

/// See lib/base/fields.h.
template <MaybeConst<LockSpec> Any, typename Visitor>
void visit_fields(Any& spec, Visitor& visit) {
  visit("name", spec.name);
  visit("owner", spec.owner);
  visit("mode", spec.mode);
  visit("permits", spec.permits);
  visit.rare("slots", spec.slots);
  visit("fair", spec.fair);
  visit("ttl", spec.ttl);
  visit("renew_interval", spec.renew_interval);
  visit("lock_delay", spec.lock_delay);
  visit("at_least", spec.at_least);
  visit("once", spec.wait.once);
  visit("until", spec.wait.until);
  visit("tries", spec.wait.tries);
  visit("retry_interval", spec.wait.retry_interval);
  visit("connect_timeout", spec.wait.connect_timeout);
  visit("has_fallback", spec.wait.has_fallback);
  visit("supersedes", spec.supersedes);
  visit("behind_nobody", spec.behind_nobody);
  visit("reason", spec.reason);
  visit.rare("command", spec.command);
  visit("ancestor", spec.ancestor);
  visit("secret", spec.secret);
  visit("kill_after", spec.kill_after);
  visit("ends_command", spec.ends_command);
  visit("take", spec.take);
  visit("stock", spec.stock);
  visit("left_to", spec.left_to);
}

}  // namespace dlock
