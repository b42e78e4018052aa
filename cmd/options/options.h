// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/log.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/config/backend_url.h"
#include "lib/config/config.h"
#include "lib/history/event_log.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/holder.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/once_session.h"
#include "lib/lock/owner.h"
#include "lib/run/supervisor.h"
#include "lib/stock/quantity.h"

namespace dlock {

enum class Command {
  kRun,
  kHold,
  kAcquire,
  kRenew,
  kRelease,
  kWait,
  kInspect,
  kRevoke,
  kForceRelease,
  kCheck,
  kFence,
  kStock,
  kDoctor,
  kPing,
  kSetup,
  kGc,
  kBench,
  kHistory,
  kMetrics,
  kConfig,
  kCompletion,
  kHelp,
  kVersion,
  kComplete,  ///< hidden: words for the completion scripts
};

/// --warn-held: from when on a busy lock is told of, whatever else is silent.
struct WarnHeld {
  Duration after{0};
  std::optional<int> status;  ///< to exit with then; nullopt: as for any busy lock
};

enum class When { kAuto, kAlways, kNever };

/// What `dlock stock` is to do.
enum class StockAction { kCreate, kShow, kTake, kBatch, kRefund, kAdd, kRun, kRebalance, kResize, kDrop };

/// The arguments of `dlock stock`; the stock's name is the key.
struct StockOptions {
  StockAction action = StockAction::kShow;
  Quantity quantity = 0;                   ///< --quantity of create
  int segments = 1;                        ///< of create, resize
  bool if_not_exists = false;              ///< create: fine if it is there
  Quantity qty = 1;                        ///< --qty
  std::optional<Quantity> qty_given = {};  ///< --qty, if it was: refund gives back all without it
  std::optional<LockName> id = {};         ///< --id
  std::optional<LockName> refund_id = {};
  bool before_take = false;  ///< refund: of what took nothing
  bool requests = false;     ///< show: what is remembered, at most so many:
  int limit = 100;
  bool lock_segment = false;             ///< run --mode lock
  std::string typed_for_run = {};        ///< " --mode lock --ttl 9s", as far as flags said so: for the same call again
  std::optional<StockClaim> claim = {};  ///< of run: what is set aside
};

/// --count at most.
inline constexpr int kMostBenchRounds = 50'000;

/// One call of dlock, complete: flags, environment and configuration files merged, every value checked. Made once by
/// parse_command_line(); what follows only reads it.
struct Options {
  Command command = Command::kHelp;
  std::vector<LockName> keys;      ///< in canonical order, each once; the RESOURCE of fence
  std::vector<std::string> words;  ///< positional arguments that are neither key nor token: "show", "bash", "run", ...
  std::vector<char*> child;        ///< CMD and its arguments as they stood in argv, with the closing null; empty: none
  bool separated = false;          ///< by "--" from the keys
  std::optional<std::string> shell_command;  ///< -c

  std::vector<BackendUrl> backends;  ///< the backend, then its fallbacks, in order; never empty
  std::vector<std::string> places;   ///< renew, release, check: DLOCK_BACKEND for each of them, if there are several
  bool run_if_unavailable = false;

  bool nonblock = false;
  std::optional<Duration> wait;
  int tries = 0;
  Duration retry_interval{0};
  int conflict_exit_code = 75;
  std::optional<WarnHeld> warn_held;
  Mode mode = Mode::kExclusive;
  int permits = 0;
  std::vector<std::string> slots;  ///< names for the permits; empty: numbers
  bool fair = false;
  Supersedes supersedes = Supersedes::kNothing;  ///< --replace, --newest
  Duration ttl = std::chrono::seconds(30);
  bool ttl_given = false;  ///< by flag, environment or file: `acquire` wants it to be chosen
  Duration kill_after{0};
  OnLost on_lost;
  Duration lock_delay{0};
  Duration at_least{0};
  Duration remember = std::chrono::hours(24 * 7);
  std::optional<OncePolicy> once;
  int repeated_exit_code = 0;
  std::optional<Duration> max_hold;
  Duration connect_timeout = std::chrono::seconds(5);
  bool close_lock = false;  ///< -o
  std::string reason;
  std::optional<std::string> report;  ///< FILE or fd:N
  EventPlace events;
  std::optional<WallTime> since;  ///< history
  std::optional<WallTime> until;
  int last = 0;  ///< attempts; 0: all
  bool follow = false;
  bool svg = false;
  std::string match;  ///< metrics: a pattern; empty: every key
  When progress = When::kAuto;
  When colour = When::kAuto;
  Log::Style log;            ///< colour already decided for stderr
  bool store_typed = false;  ///< --backend, by flag
  std::string same_store;    ///< " -b URL -C FILE" as far as flags said so: for commands in advice; no password
  std::string same_config;   ///< the " -C FILE" of it

  bool json = false;
  bool shell = false;  ///< acquire: exports for a shell
  bool watch = false;
  bool yes = false;
  bool foreign_data = false;
  bool force = false;  ///< revoke: takes the lock from who has not obeyed
  std::string slot;    ///< revoke: of the one that is asked; empty: all are. release: what is to be forgotten
  bool dry_run = false;
  bool print = false;
  bool if_held = false;               ///< release: 0 also when it is no longer held
  int count = 0;                      ///< bench: rounds; 0: as many as it likes
  std::optional<FencingToken> token;  ///< TOKEN of check and fence, --token of force-release
  std::optional<Owner> owner;
  std::optional<pid_t> watch_pid;
  std::optional<Duration> interval;    ///< of --watch
  std::optional<Duration> older_than;  ///< inspect: only what is held for longer
  std::optional<StockOptions> stock;   ///< of `dlock stock`

  bool strict = false;                 ///< config check, doctor: a warning is a failure
  std::vector<Error> mistakes;         ///< all that is wrong. config check: in files that are in use or not; for who
                                       ///< goes on all the same: what was left out
  std::vector<std::string> warnings;   ///< to be said before anything else, through the log
  std::vector<BackendUrl> configured;  ///< config check: all stores that a run may mean, some of them more than once

  Config config;  ///< what was merged, each value with its origin (config show)
};

/// Merges argv, `environment` (NULL-terminated, as in environ) and the configuration files. Options stop at the first
/// KEY; argv is split at the first "--" behind the command before anything looks at it. Invalid (64) names the word
/// that is wrong and the nearest right one; Misconfigured (78) names file:line:column.
Result<Options> parse_command_line(int argc, char** argv, char** environment);

/// Whether the words in front of -- ask for --log-format json, or for --json without any --log-format, as far as can be
/// told when the others are mistaken.
bool asks_for_json_log(int argc, char** argv);

/// Whether these words ask for acquire --shell, as far as can be told then: also where the command is mistyped. A
/// script evaluates what is printed.
bool asks_for_shell(int argc, char** argv);

/// The text of `dlock help [COMMAND [ACTION]|options]`; without words the overview. Invalid, with the nearest name, for
/// an unknown one.
Result<std::string> help_text(const std::vector<std::string>& words);

/// The text of `dlock config show`: every setting with its origin, secrets left out; as text or JSON, ready for stdout.
std::string config_text(const Options& options);
/// The same of `dlock config check`; mistakes are in the JSON only.
std::string config_check_text(const Options& options);

/// The completion script for "bash", "zsh" or "fish".
Result<std::string> completion_script(const std::string& shell);

}  // namespace dlock
