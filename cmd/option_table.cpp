// SPDX-License-Identifier: Apache-2.0
#include "cmd/option_table.h"

#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr CommandSet kRun = bit(Command::kRun);
constexpr CommandSet kHold = bit(Command::kHold);
constexpr CommandSet kAcquire = bit(Command::kAcquire);
constexpr CommandSet kTakers = kRun | kHold | kAcquire;
constexpr CommandSet kWaiters = kTakers | bit(Command::kWait);
constexpr CommandSet kFence = bit(Command::kFence);
constexpr CommandSet kPrinters = kHold | kAcquire | kFence | bit(Command::kRenew) | bit(Command::kRelease) |
                                 bit(Command::kInspect) | bit(Command::kForceRelease) | bit(Command::kCheck) |
                                 bit(Command::kGc) | bit(Command::kDoctor) | bit(Command::kPing) |
                                 bit(Command::kBench) | bit(Command::kConfig);
constexpr CommandSet kConnecting =
    kEveryCommand & ~(bit(Command::kConfig) | bit(Command::kCompletion) | bit(Command::kHelp) | bit(Command::kVersion));

using enum ValueKind;

constexpr OptionRow kRows[] = {
    {.id = OptionId::kBackend,
     .name = "backend",
     .letter = 'b',
     .kind = ValueKind::kBackend,
     .value = "URL|NAME",
     .commands = kEveryCommand,
     .anywhere = true,
     .variable = "DLOCK_BACKEND",
     .config_key = "default-backend",
     .preset = "local:",
     .help = "where the locks are kept: a URL, or a name from the configuration"},
    {.id = OptionId::kConfig,
     .name = "config",
     .letter = 'C',
     .kind = kFile,
     .value = "FILE",
     .commands = kEveryCommand,
     .anywhere = true,
     .variable = "DLOCK_CONFIG",
     .help = "a configuration file, stronger than those of the user and of the system"},
    {.id = OptionId::kNonblock,
     .name = "nonblock",
     .letter = 'n',
     .commands = kWaiters | kFence,
     .preset = "wait for ever",
     .help = "try once"},
    {.id = OptionId::kWait,
     .name = "wait",
     .letter = 'w',
     .kind = kDuration,
     .value = "D",
     .commands = kWaiters | kFence,
     .variable = "DLOCK_WAIT",
     .config_key = "wait",
     .preset = "wait for ever",
     .help = "give up after D; 0 is the same as -n"},
    {.id = OptionId::kTries,
     .name = "tries",
     .kind = kNumber,
     .value = "N",
     .commands = kTakers,
     .config_key = "tries",
     .help = "give up after N attempts"},
    {.id = OptionId::kRetryInterval,
     .name = "retry-interval",
     .kind = kDuration,
     .value = "D",
     .commands = kTakers,
     .config_key = "retry-interval",
     .preset = "1s",
     .help = "the pause between attempts, with --tries"},
    {.id = OptionId::kConflictExitCode,
     .name = "conflict-exit-code",
     .letter = 'E',
     .kind = kNumber,
     .value = "N",
     .commands = kWaiters | kFence,
     .variable = "DLOCK_CONFLICT_EXIT_CODE",
     .config_key = "conflict-exit-code",
     .preset = "75",
     .help = "exit status when somebody else holds it; -E 0 is the cron form"},
    {.id = OptionId::kExclusive,
     .name = "exclusive",
     .letter = 'x',
     .commands = kTakers,
     .preset = "exclusive",
     .help = "one holder"},
    {.id = OptionId::kShared,
     .name = "shared",
     .letter = 's',
     .commands = kTakers,
     .help = "any number of shared holders, but no exclusive one"},
    {.id = OptionId::kPermits,
     .name = "permits",
     .kind = kNumber,
     .value = "N",
     .commands = kTakers,
     .help = "N holders at most; all callers of a key must agree on N"},
    {.id = OptionId::kFair,
     .name = "fair",
     .commands = kTakers,
     .config_key = "fair",
     .preset = "off",
     .help = "first come, first served"},
    {.id = OptionId::kTtl,
     .name = "ttl",
     .letter = 't',
     .kind = kDuration,
     .value = "D",
     .commands = kTakers | bit(Command::kRenew),
     .variable = "DLOCK_TTL",
     .config_key = "ttl",
     .of_backend = true,
     .preset = "30s",
     .help = "lease length, at least 1s"},
    {.id = OptionId::kRenewInterval,
     .name = "renew-interval",
     .kind = kDuration,
     .value = "D",
     .commands = kTakers,
     .config_key = "renew-interval",
     .of_backend = true,
     .preset = "ttl/3",
     .help = "renew the lease every D"},
    {.id = OptionId::kKillAfter,
     .name = "kill-after",
     .letter = 'k',
     .kind = kDuration,
     .value = "D",
     .commands = kTakers,
     .config_key = "kill-after",
     .of_backend = true,
     .preset = "5s, at most ttl/6",
     .help = "time between TERM and KILL when the lock is lost"},
    {.id = OptionId::kOnLost,
     .name = "on-lost",
     .kind = kText,
     .value = "term|kill|signal:SIG|ignore",
     .commands = kRun,
     .config_key = "on-lost",
     .preset = "term",
     .help = "what happens to CMD when the lock is lost"},
    {.id = OptionId::kLockDelay,
     .name = "lock-delay",
     .kind = kDuration,
     .value = "D",
     .commands = kTakers,
     .config_key = "lock-delay",
     .of_backend = true,
     .preset = "0",
     .help = "after an unclean end nobody gets the lock for D"},
    {.id = OptionId::kAtLeast,
     .name = "at-least",
     .kind = kDuration,
     .value = "D",
     .commands = kRun,
     .config_key = "at-least",
     .preset = "0",
     .help = "keep the lock until start + D even when CMD is faster"},
    {.id = OptionId::kFallback,
     .name = "fallback",
     .kind = ValueKind::kBackend,
     .value = "URL|NAME",
     .commands = kWaiters,
     .repeats = true,
     .variable = "DLOCK_FALLBACK",
     .config_key = "fallback",
     .of_backend = true,
     .preset = "none",
     .help = "used when the backend before it is unreachable (repeatable)"},
    {.id = OptionId::kIfUnavailable,
     .name = "if-unavailable",
     .kind = kChoice,
     .value = "fail|run",
     .commands = kRun,
     .config_key = "if-unavailable",
     .of_backend = true,
     .preset = "fail",
     .help = "run = run unlocked, with a warning, when no backend answers"},
    {.id = OptionId::kConnectTimeout,
     .name = "connect-timeout",
     .kind = kDuration,
     .value = "D",
     .commands = kConnecting,
     .config_key = "connect-timeout",
     .of_backend = true,
     .preset = "5s",
     .help = "how long an unreachable backend is asked"},
    {.id = OptionId::kStrictRelease,
     .name = "strict-release",
     .commands = kRun | kHold,
     .config_key = "strict-release",
     .preset = "off",
     .help = "a release that failed makes the exit status 69"},
    {.id = OptionId::kCommandText,
     .name = "command",
     .letter = 'c',
     .kind = kText,
     .value = "STR",
     .commands = kRun,
     .help = "run /bin/sh -c STR; may stand right behind the KEY"},
    {.id = OptionId::kClose,
     .name = "close",
     .letter = 'o',
     .commands = kRun,
     .help = "do not pass the local lock's descriptor to CMD"},
    {.id = OptionId::kReason,
     .name = "reason",
     .letter = 'm',
     .kind = kText,
     .value = "TEXT",
     .commands = kWaiters,
     .variable = "DLOCK_REASON",
     .config_key = "reason",
     .help = "shown to those who wait"},
    {.id = OptionId::kReport,
     .name = "report",
     .kind = kFile,
     .value = "FILE|fd:N",
     .commands = kRun,
     .config_key = "report",
     .help = "write one JSON line about the outcome"},
    {.id = OptionId::kWatchPid,
     .name = "watch-pid",
     .kind = kNumber,
     .value = "PID",
     .commands = kAcquire,
     .help = "keep the lock until that process ends"},
    {.id = OptionId::kOwner,
     .name = "owner",
     .kind = kText,
     .value = "OWNER",
     .commands = bit(Command::kRenew) | bit(Command::kRelease),
     .help = "the handle that acquire printed"},
    {.id = OptionId::kIfHeld,
     .name = "if-held",
     .commands = bit(Command::kRelease),
     .help = "succeed also when it is no longer held"},
    {.id = OptionId::kToken,
     .name = "token",
     .kind = kNumber,
     .value = "N",
     .commands = bit(Command::kForceRelease),
     .help = "only if the holder's fencing token is N"},
    {.id = OptionId::kYes, .name = "yes", .letter = 'y', .commands = bit(Command::kForceRelease), .help = "do not ask"},
    {.id = OptionId::kWatch, .name = "watch", .commands = bit(Command::kInspect), .help = "live view"},
    {.id = OptionId::kInterval,
     .name = "interval",
     .kind = kDuration,
     .value = "D",
     .commands = bit(Command::kInspect),
     .preset = "1s",
     .help = "look again every D, with --watch"},
    {.id = OptionId::kDryRun,
     .name = "dry-run",
     .commands = bit(Command::kGc),
     .help = "say what would be swept, sweep nothing"},
    {.id = OptionId::kPrint,
     .name = "print",
     .commands = bit(Command::kSetup),
     .help = "print what would be done instead of doing it"},
    {.id = OptionId::kCount,
     .name = "count",
     .kind = kNumber,
     .value = "N",
     .commands = bit(Command::kBench),
     .help = "how many rounds"},
    {.id = OptionId::kJson, .name = "json", .commands = kPrinters, .help = "JSON instead of text"},
    {.id = OptionId::kProgress,
     .name = "progress",
     .kind = kChoice,
     .value = "auto|always|never",
     .commands = kWaiters,
     .config_key = "progress",
     .preset = "auto",
     .help = "say on stderr for whom we wait"},
    {.id = OptionId::kQuiet,
     .name = "quiet",
     .letter = 'q',
     .commands = kEveryCommand,
     .anywhere = true,
     .config_key = "quiet",
     .preset = "off",
     .help = "errors only"},
    {.id = OptionId::kVerbose,
     .name = "verbose",
     .letter = 'v',
     .commands = kEveryCommand,
     .anywhere = true,
     .repeats = true,
     .preset = "off",
     .help = "say each step on stderr (repeatable)"},
    {.id = OptionId::kColor,
     .name = "color",
     .kind = kChoice,
     .value = "auto|always|never",
     .commands = kEveryCommand,
     .anywhere = true,
     .config_key = "color",
     .preset = "auto",
     .help = "colour on stderr and in views"},
    {.id = OptionId::kLogFormat,
     .name = "log-format",
     .kind = kChoice,
     .value = "text|json",
     .commands = kEveryCommand,
     .anywhere = true,
     .config_key = "log-format",
     .preset = "text",
     .help = "how messages on stderr are written"},
    {.id = OptionId::kHelp,
     .name = "help",
     .letter = 'h',
     .commands = kEveryCommand,
     .anywhere = true,
     .help = "explain the command"},
    {.id = OptionId::kVersion,
     .name = "version",
     .letter = 'V',
     .commands = kEveryCommand,
     .anywhere = true,
     .help = "print the version"},
};

constexpr bool rows_stand_in_the_order_of_their_ids() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].id != static_cast<OptionId>(i)) return false;
  }
  return std::size(kRows) == static_cast<std::size_t>(OptionId::kVersion) + 1;
}
static_assert(rows_stand_in_the_order_of_their_ids());

/// Names under which users of flock(1) and its kin know an option.
struct Alias {
  std::string_view name;
  OptionId id;
};
constexpr Alias kAliases[] = {
    {"nb", OptionId::kNonblock},  {"nonblocking", OptionId::kNonblock}, {"try", OptionId::kNonblock},
    {"timeout", OptionId::kWait}, {"limit", OptionId::kPermits},        {"colour", OptionId::kColor},
};

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

const OptionRow& option_row(OptionId id) { return kRows[static_cast<std::size_t>(id)]; }

const OptionRow* find_option(std::string_view name) {
  for (const OptionRow& row : kRows) {
    if (row.name == name) return &row;
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return &option_row(alias.id);
  }
  return nullptr;
}

const OptionRow* find_option(char letter) {
  if (letter == 'e') return &option_row(OptionId::kExclusive);  // flock(1) has -e and -x
  for (const OptionRow& row : kRows) {
    if (row.letter == letter && letter != 0) return &row;
  }
  return nullptr;
}

std::string_view nearest_option(std::string_view word, Command command) {
  Nearest nearest(word);
  for (const OptionRow& row : kRows) {
    if (has_option(command, row)) nearest.offer(row.name);
  }
  for (const Alias& alias : kAliases) {
    if (has_option(command, option_row(alias.id))) nearest.offer(alias.name);
  }
  return nearest.best();
}

}  // namespace dlock
