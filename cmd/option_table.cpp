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
constexpr CommandSet kPrinters = kHold | kAcquire | bit(Command::kRenew) | bit(Command::kInspect) |
                                 bit(Command::kForceRelease) | bit(Command::kCheck) | bit(Command::kGc) |
                                 bit(Command::kDoctor) | bit(Command::kPing) | bit(Command::kBench) |
                                 bit(Command::kConfig);
constexpr CommandSet kConnecting = kEveryCommand & ~(bit(Command::kConfig) | bit(Command::kCompletion) |
                                                     bit(Command::kHelp) | bit(Command::kVersion));

using enum ValueKind;

// clang-format off: one option, two lines
constexpr OptionRow kRows[] = {
    {OptionId::kBackend, "backend", 'b', ValueKind::kBackend, "URL|NAME", kEveryCommand, true, false, "DLOCK_BACKEND", "default-backend", false, "local:",
     "where the locks are kept: a URL, or a name from the configuration"},
    {OptionId::kConfig, "config", 'C', kFile, "FILE", kEveryCommand, true, false, "DLOCK_CONFIG", "", false, "",
     "a configuration file, stronger than those of the user and of the system"},
    {OptionId::kNonblock, "nonblock", 'n', kFlag, "", kWaiters | kFence, false, false, "", "", false, "wait for ever",
     "try once"},
    {OptionId::kWait, "wait", 'w', kDuration, "D", kWaiters | kFence, false, false, "DLOCK_WAIT", "wait", false, "wait for ever",
     "give up after D; 0 is the same as -n"},
    {OptionId::kTries, "tries", 0, kNumber, "N", kTakers, false, false, "", "tries", false, "",
     "give up after N attempts"},
    {OptionId::kRetryInterval, "retry-interval", 0, kDuration, "D", kTakers, false, false, "", "retry-interval", false, "1s",
     "the pause between attempts, with --tries"},
    {OptionId::kConflictExitCode, "conflict-exit-code", 'E', kNumber, "N", kWaiters | kFence, false, false, "DLOCK_CONFLICT_EXIT_CODE", "conflict-exit-code", false, "75",
     "exit status when somebody else holds it; -E 0 is the cron form"},
    {OptionId::kExclusive, "exclusive", 'x', kFlag, "", kTakers, false, false, "", "", false, "exclusive",
     "one holder"},
    {OptionId::kShared, "shared", 's', kFlag, "", kTakers, false, false, "", "", false, "",
     "any number of shared holders, but no exclusive one"},
    {OptionId::kPermits, "permits", 0, kNumber, "N", kTakers, false, false, "", "", false, "",
     "N holders at most; all callers of a key must agree on N"},
    {OptionId::kFair, "fair", 0, kFlag, "", kTakers, false, false, "", "fair", false, "off",
     "first come, first served"},
    {OptionId::kTtl, "ttl", 't', kDuration, "D", kTakers | bit(Command::kRenew), false, false, "DLOCK_TTL", "ttl", true, "30s",
     "lease length, at least 1s"},
    {OptionId::kRenewInterval, "renew-interval", 0, kDuration, "D", kTakers, false, false, "", "renew-interval", true, "ttl/3",
     "renew the lease every D"},
    {OptionId::kKillAfter, "kill-after", 'k', kDuration, "D", kTakers, false, false, "", "kill-after", true, "5s, at most ttl/6",
     "time between TERM and KILL when the lock is lost"},
    {OptionId::kOnLost, "on-lost", 0, kText, "term|kill|signal:SIG|ignore", kRun, false, false, "", "on-lost", false, "term",
     "what happens to CMD when the lock is lost"},
    {OptionId::kLockDelay, "lock-delay", 0, kDuration, "D", kTakers, false, false, "", "lock-delay", true, "0",
     "after an unclean end nobody gets the lock for D"},
    {OptionId::kAtLeast, "at-least", 0, kDuration, "D", kRun, false, false, "", "at-least", false, "0",
     "keep the lock until start + D even when CMD is faster"},
    {OptionId::kFallback, "fallback", 0, ValueKind::kBackend, "URL|NAME", kWaiters, false, true, "DLOCK_FALLBACK", "fallback", true, "none",
     "used when the backend before it is unreachable (repeatable)"},
    {OptionId::kIfUnavailable, "if-unavailable", 0, kChoice, "fail|run", kRun, false, false, "", "if-unavailable", true, "fail",
     "run = run unlocked, with a warning, when no backend answers"},
    {OptionId::kConnectTimeout, "connect-timeout", 0, kDuration, "D", kConnecting, false, false, "", "connect-timeout", true, "5s",
     "how long an unreachable backend is asked"},
    {OptionId::kStrictRelease, "strict-release", 0, kFlag, "", kRun | kHold, false, false, "", "strict-release", false, "off",
     "a release that failed makes the exit status 69"},
    {OptionId::kCommandText, "command", 'c', kText, "STR", kRun, false, false, "", "", false, "",
     "run /bin/sh -c STR; may stand right behind the KEY"},
    {OptionId::kClose, "close", 'o', kFlag, "", kRun, false, false, "", "", false, "",
     "do not pass the local lock's descriptor to CMD"},
    {OptionId::kReason, "reason", 'm', kText, "TEXT", kWaiters, false, false, "DLOCK_REASON", "reason", false, "",
     "shown to those who wait"},
    {OptionId::kReport, "report", 0, kFile, "FILE|fd:N", kRun, false, false, "", "report", false, "",
     "write one JSON line about the outcome"},
    {OptionId::kWatchPid, "watch-pid", 0, kNumber, "PID", kAcquire, false, false, "", "", false, "",
     "keep the lock until that process ends"},
    {OptionId::kOwner, "owner", 0, kText, "OWNER", bit(Command::kRenew) | bit(Command::kRelease), false, false, "", "", false, "",
     "the handle that acquire printed"},
    {OptionId::kIfHeld, "if-held", 0, kFlag, "", bit(Command::kRelease), false, false, "", "", false, "",
     "succeed also when it is no longer held"},
    {OptionId::kToken, "token", 0, kNumber, "N", bit(Command::kForceRelease), false, false, "", "", false, "",
     "only if the holder's fencing token is N"},
    {OptionId::kYes, "yes", 'y', kFlag, "", bit(Command::kForceRelease), false, false, "", "", false, "",
     "do not ask"},
    {OptionId::kWatch, "watch", 0, kFlag, "", bit(Command::kInspect), false, false, "", "", false, "",
     "live view"},
    {OptionId::kInterval, "interval", 0, kDuration, "D", bit(Command::kInspect), false, false, "", "", false, "1s",
     "look again every D, with --watch"},
    {OptionId::kDryRun, "dry-run", 0, kFlag, "", bit(Command::kGc), false, false, "", "", false, "",
     "say what would be swept, sweep nothing"},
    {OptionId::kPrint, "print", 0, kFlag, "", bit(Command::kSetup), false, false, "", "", false, "",
     "print what would be done instead of doing it"},
    {OptionId::kCount, "count", 0, kNumber, "N", bit(Command::kBench), false, false, "", "", false, "",
     "how many rounds"},
    {OptionId::kJson, "json", 0, kFlag, "", kPrinters, false, false, "", "", false, "",
     "JSON instead of text"},
    {OptionId::kProgress, "progress", 0, kChoice, "auto|always|never", kWaiters, false, false, "", "progress", false, "auto",
     "say on stderr for whom we wait"},
    {OptionId::kQuiet, "quiet", 'q', kFlag, "", kEveryCommand, true, false, "", "quiet", false, "off",
     "errors only"},
    {OptionId::kVerbose, "verbose", 'v', kFlag, "", kEveryCommand, true, true, "", "", false, "off",
     "say each step on stderr (repeatable)"},
    {OptionId::kColor, "color", 0, kChoice, "auto|always|never", kEveryCommand, true, false, "", "color", false, "auto",
     "colour on stderr and in views"},
    {OptionId::kLogFormat, "log-format", 0, kChoice, "text|json", kEveryCommand, true, false, "", "log-format", false, "text",
     "how messages on stderr are written"},
    {OptionId::kHelp, "help", 'h', kFlag, "", kEveryCommand, true, false, "", "", false, "",
     "explain the command"},
    {OptionId::kVersion, "version", 'V', kFlag, "", kEveryCommand, true, false, "", "", false, "",
     "print the version"},
};
// clang-format on

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
    {"nb", OptionId::kNonblock},     {"nonblocking", OptionId::kNonblock}, {"try", OptionId::kNonblock},
    {"timeout", OptionId::kWait},    {"limit", OptionId::kPermits},        {"colour", OptionId::kColor},
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
