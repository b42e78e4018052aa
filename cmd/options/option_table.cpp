// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_table.h"

#include <iterator>

#include "lib/config/suggest.h"

namespace dlock::rows {

using enum OptionId;
using Row = OptionRow;

// The commands that share options.

constexpr CommandSet kForRun = bit(Command::kRun);
constexpr CommandSet kHold = bit(Command::kHold);
constexpr CommandSet kAcquire = bit(Command::kAcquire);
constexpr CommandSet kTakers = kForRun | kHold | kAcquire;
constexpr CommandSet kWaiters = kTakers | bit(Command::kWait);
constexpr CommandSet kRevoke = bit(Command::kRevoke);
constexpr CommandSet kFence = bit(Command::kFence);
constexpr CommandSet kStock = bit(Command::kStock);
constexpr CommandSet kHistory = bit(Command::kHistory);
constexpr CommandSet kMetrics = bit(Command::kMetrics);
constexpr CommandSet kPrinters = kHold | kAcquire | kFence | kRevoke | bit(Command::kRenew) | bit(Command::kRelease) |
                                 bit(Command::kInspect) | bit(Command::kForceRelease) | bit(Command::kCheck) |
                                 bit(Command::kGc) | bit(Command::kDoctor) | bit(Command::kPing) |
                                 bit(Command::kBench) | bit(Command::kConfig) | bit(Command::kSetup) |
                                 bit(Command::kVersion) | kStock | kHistory;
constexpr CommandSet kConnecting = kEveryCommand & ~(kHistory | bit(Command::kConfig) | bit(Command::kCompletion) |
                                                     bit(Command::kHelp) | bit(Command::kVersion));

constexpr OptionValue flag{};
constexpr OptionValue text(std::string_view name) { return {ValueKind::kText, name}; }
constexpr OptionValue file(std::string_view name) { return {ValueKind::kFile, name}; }
constexpr OptionValue number(std::string_view name) { return {ValueKind::kNumber, name}; }
constexpr OptionValue duration(std::string_view name) { return {ValueKind::kDuration, name}; }
constexpr OptionValue choice(std::string_view name) { return {ValueKind::kChoice, name}; }
constexpr OptionValue backend(std::string_view name) { return {ValueKind::kBackend, name}; }

constexpr OptionRow kAll[] = {
    // Options of commands that take a lock: where, for how long, what for.
    Row(kBackend, "backend", 'b', backend("URL|NAME"), kEveryCommand,
        "where the locks are kept: a URL, or a name from the configuration; its password: $DLOCK_PASSWORD",
        {.anywhere = true, .variable = "DLOCK_BACKEND", .config = kInDefaults | kInKey, .preset = "local:"}),
    Row(kConfig, "config", 'C', file("FILE"), kEveryCommand,
        "a configuration file that takes precedence over the user's and the system's",
        {.anywhere = true, .variable = "DLOCK_CONFIG"}),
    Row(kNonblock, "nonblock", 'n', flag, kWaiters | kFence | kStock | kRevoke, "try once",
        {.preset = "wait for ever", .elsewhere = {kRevoke, "ask, and do not wait"}}),
    Row(kWait, "wait", 'w', duration("D"), kWaiters | kFence | kStock | kRevoke, "give up after D; 0 is the same as -n",
        {.variable = "DLOCK_WAIT", .config = kInDefaults | kInKey, .flag_only = kRevoke, .preset = "wait for ever"}),
    Row(kTries, "tries", 0, number("N"), kTakers, "give up after N attempts",
        {.config = kInDefaults | kInKey, .rare = kEveryCommand}),
    Row(kRetryInterval, "retry-interval", 0, duration("D"), kTakers, "the pause between attempts, with --tries",
        {.config = kInDefaults | kInKey, .preset = "1s", .rare = kEveryCommand}),
    Row(kConflictExitCode, "conflict-exit-code", 'E', number("N"), kWaiters | kFence | kStock,
        "exit status when the lock is busy; -E 0 is the cron form",
        {.variable = "DLOCK_CONFLICT_EXIT_CODE",
         .config = kInDefaults | kInKey,
         .preset = "75",
         .elsewhere = {kStock, "exit status when the wait is over, but enough items may still come back"}}),
    Row(kWarnHeld, "warn-held", 0, duration("D[=N]"), kWaiters,
        "on giving up a lock held for D: say who holds it, even with -q or -E 0, and exit with N",
        {.variable = "DLOCK_WARN_HELD", .config = kInDefaults | kInKey}),
    Row(kExclusive, "exclusive", 'x', flag, kTakers, "one holder", {.preset = "exclusive"}),
    Row(kShared, "shared", 's', flag, kTakers, "any number of shared holders, but no exclusive one"),
    Row(kPermits, "permits", 0, number("N"), kTakers,
        "N holders at most, DLOCK_SLOT 0 to N-1 for each; all callers of a key must agree on N", {.config = kInKey}),
    Row(kSlots, "slots", 0, text("NAME,NAME,..."), kTakers,
        "one holder per name; each finds its own in DLOCK_SLOT; implies --permits"),
    Row(kFair, "fair", 0, flag, kTakers, "first come, first served", {.config = kInDefaults | kInKey, .preset = "off"}),
    Row(kReplace, "replace", 0, flag, kForRun,
        "end the holder, and run once it is gone; a later --replace supersedes this run"),
    Row(kNewest, "newest", 0, flag, kForRun, "give up the wait (75) as soon as a later run with --newest waits"),
    Row(kTtl, "ttl", 't', duration("D"), kTakers | bit(Command::kRenew) | kStock, "lease length, at least 1s",
        {.variable = "DLOCK_TTL", .config = kInDefaults | kInBackend | kInKey, .preset = "30s"}),
    Row(kKillAfter, "kill-after", 'k', duration("D"), kTakers | kStock,
        "time between TERM and KILL when the lock is lost",
        {.config = kInDefaults | kInBackend | kInKey, .preset = "5s, at most ttl/6"}),
    Row(kOnLost, "on-lost", 0, text("term|kill|signal:SIG"), kForRun | kStock,
        "what happens to CMD when the lock is lost",
        {.config = kInDefaults | kInKey, .preset = "term", .words = "term kill signal:USR1 signal:HUP"}),
    Row(kLockDelay, "lock-delay", 0, duration("D"), kTakers,
        "keep others out for D after a holder ended without releasing the lock",
        {.config = kInDefaults | kInBackend | kInKey, .preset = "0", .rare = kEveryCommand}),
    Row(kAtLeast, "at-least", 0, duration("D"), kForRun,
        "keep the lock for at least D from the start, even if CMD ends earlier",
        {.config = kInDefaults | kInKey, .preset = "0"}),
    Row(kOnce, "once", 0, text("SLOT"), kForRun,
        "run once for SLOT of the key, such as \"$(date +%F)\"; later: 0, or the status of -E"),
    Row(kRemember, "remember", 0, duration("D"), kForRun, "how long a slot of --once is remembered; at most 366d",
        {.config = kInDefaults | kInKey, .preset = "7d"}),
    Row(kMaxHold, "max-hold", 0, duration("D"), kForRun | kHold | kStock,
        "held for D: end CMD, as after a loss, and exit with 124",
        {.variable = "DLOCK_MAX_HOLD",
         .config = kInDefaults | kInKey,
         .elsewhere = {kHold, "held for D: release the lock and exit with 124"}}),
    Row(kFallback, "fallback", 0, backend("URL|NAME"), kWaiters,
        "the backend to use when the one before it is unreachable (repeatable)",
        {.repeats = true, .variable = "DLOCK_FALLBACK", .config = kInDefaults | kInBackend, .preset = "none"}),
    Row(kIfUnavailable, "if-unavailable", 0, choice("fail|run"), kForRun,
        "when no backend answers: fail, or run CMD unlocked with a warning",
        {.config = kInDefaults | kInBackend, .preset = "fail"}),
    Row(kConnectTimeout, "connect-timeout", 0, duration("D"), kConnecting, "how long to try an unreachable backend",
        {.config = kInDefaults | kInBackend, .preset = "5s", .rare = kEveryCommand & ~kWaiters}),
    Row(kCommandText, "command", 'c', text("STR"), kForRun | kStock, "run /bin/sh -c STR; may follow the KEY",
        {.elsewhere = {kStock, "use /bin/sh -c STR as CMD"}}),
    Row(kClose, "close", 'o', flag, kForRun, "do not pass the local lock's descriptor to CMD", {.rare = kEveryCommand}),
    Row(kReason, "reason", 'm', text("TEXT"), kWaiters | bit(Command::kForceRelease) | kRevoke,
        "what the lock is for, shown to those who wait; at most 256 bytes",
        {.variable = "DLOCK_REASON",
         .config = kInDefaults | kInKey,
         .flag_only = bit(Command::kForceRelease) | kRevoke,
         .elsewhere = {bit(Command::kForceRelease) | kRevoke, "shown to those who lose the lock; at most 256 bytes"}}),
    Row(kReport, "report", 0, file("FILE|fd:N"), kForRun | kStock, "write one JSON line about the outcome",
        {.config = kInDefaults, .words = "fd:3"}),
    Row(kEvents, "events", 0, file("FILE|journald|fd:N"),
        kWaiters | bit(Command::kRenew) | bit(Command::kRelease) | bit(Command::kForceRelease) | kRevoke | kHistory |
            kMetrics | bit(Command::kInspect),
        "record what happens to the lock, one JSON line per event",
        {.variable = "DLOCK_EVENTS",
         .config = kInDefaults | kInKey,
         .preset = "off",
         .elsewhere = {kHistory | kMetrics | bit(Command::kInspect), "where the events were recorded"},
         .words = "journald fd:3 off"}),
    // Options of single commands, then of stocks, then what is said and how.
    Row(kWatchPid, "watch-pid", 0, number("PID"), kAcquire, "keep the lock until that process ends"),
    Row(kOwner, "owner", 0, text("OWNER"), bit(Command::kRenew) | bit(Command::kRelease),
        "the handle that acquire printed"),
    Row(kSlot, "slot", 0, text("SLOT"), kRevoke | bit(Command::kRelease),
        "ask only the holder of this permit: its number or name",
        {.elsewhere = {bit(Command::kRelease), "forget that SLOT has run (run --once)"}}),
    Row(kIfHeld, "if-held", 0, flag, bit(Command::kRelease), "succeed even if it is no longer held"),
    Row(kToken, "token", 0, number("N"), bit(Command::kForceRelease), "only if the holder's fencing token is N"),
    Row(kYes, "yes", 'y', flag, bit(Command::kForceRelease) | kStock, "do not ask",
        {.elsewhere = {kStock, "required, because the items and all requests are forgotten"}}),
    Row(kForeignData, "foreign-data", 0, flag, bit(Command::kForceRelease),
        "delete what is at the key even if it is not a lock"),
    Row(kForce, "force", 0, flag, kRevoke, "when --wait is over, take the lock from those who still hold it"),
    Row(kWatch, "watch", 0, flag, bit(Command::kInspect) | kStock, "live view; q quits"),
    Row(kInterval, "interval", 0, duration("D"), bit(Command::kInspect) | kStock, "refresh every D, with --watch",
        {.preset = "1s"}),
    Row(kDryRun, "dry-run", 0, flag, bit(Command::kGc), "print what would be removed, remove nothing"),
    Row(kSince, "since", 0, text("WHEN"), kHistory,
        "from then on: 1h (ago), today, yesterday, 03:00, 2026-02-03T03:00:00Z"),
    Row(kUntil, "until", 0, text("WHEN"), kHistory, "until then"),
    Row(kLast, "last", 'n', number("N"), kHistory, "only the last N attempts"),
    Row(kFollow, "follow", 'f', flag, kHistory, "go on, and print each attempt when it ends"),
    Row(kSvg, "svg", 0, flag, kHistory, "print a picture: who waited, held, lost, and when"),
    Row(kMatch, "match", 0, text("PATTERN"), kMetrics, "only keys that match PATTERN"),
    Row(kPrint, "print", 0, flag, bit(Command::kSetup), "print what would be done instead of doing it"),
    Row(kCount, "count", 0, number("N"), bit(Command::kBench),
        "at most N rounds, or orders, for each process; a measurement also ends with its time",
        {.preset = "20000; stock: 50000"}),
    Row(kQuantity, "quantity", 0, text("N"), kStock, "how many items there are"),
    Row(kSegments, "segments", 0, number("S"), kStock, "over how many segments the items are spread",
        {.preset = "create: 1"}),
    Row(kIfNotExists, "if-not-exists", 0, flag, kStock, "leave an existing stock alone"),
    Row(kQty, "qty", 0, text("Q"), kStock, "how many items; refund without it: all", {.preset = "1"}),
    Row(kId, "id", 0, text("ID"), kStock, "the request; the same id twice is one request"),
    Row(kRefundId, "refund-id", 0, text("ID"), kStock,
        "one of several refunds of a request; the same id twice is one refund"),
    Row(kStockMode, "mode", 0, choice("reserve|lock"), kStock,
        "set aside and sell at the end; or also hold the lock of the segment", {.preset = "reserve"}),
    Row(kJson, "json", 0, flag, kPrinters, "JSON instead of text"),
    Row(kShell, "shell", 0, flag, kAcquire, "print DLOCK_OWNER, DLOCK_TOKEN, ... as exports for eval in a shell"),
    Row(kProgress, "progress", 0, choice("auto|always|never"), kWaiters, "show on stderr which holder is waited for",
        {.config = kInDefaults, .preset = "auto"}),
    Row(kQuiet, "quiet", 'q', flag, kEveryCommand, "errors only",
        {.anywhere = true, .config = kInDefaults, .preset = "off"}),
    Row(kVerbose, "verbose", 'v', flag, kEveryCommand, "report each step on stderr",
        {.anywhere = true, .preset = "off"}),
    Row(kColor, "color", 0, choice("auto|always|never"), kEveryCommand, "colour on stderr and in views",
        {.anywhere = true, .config = kInDefaults, .preset = "auto"}),
    Row(kLogFormat, "log-format", 0, choice("text|json"), kEveryCommand, "how messages on stderr are written",
        {.anywhere = true, .config = kInDefaults, .preset = "text"}),
    Row(kStrict, "strict", 0, flag, bit(Command::kConfig) | bit(Command::kDoctor), "treat a warning as a failure"),
    Row(kHelp, "help", 'h', flag, kEveryCommand, "explain the command", {.anywhere = true}),
    Row(kVersion, "version", 'V', flag, kEveryCommand, "print the version", {.anywhere = true}),
};

}  // namespace dlock::rows

namespace dlock {
namespace {

constexpr bool rows_stand_in_the_order_of_their_ids() {
  for (std::size_t i = 0; i < std::size(rows::kAll); ++i) {
    if (rows::kAll[i].id != static_cast<OptionId>(i)) return false;
  }
  return std::size(rows::kAll) == static_cast<std::size_t>(OptionId::kVersion) + 1;
}
static_assert(rows_stand_in_the_order_of_their_ids());

/// A name under which users of flock(1) and its kin know an option.
struct OptionAlias {
  std::string_view name;
  OptionId id;
};

constexpr OptionAlias kAliases[] = {
    {"nb", OptionId::kNonblock},
    {"timeout", OptionId::kWait},
};

}  // namespace

std::span<const OptionRow> option_rows() { return rows::kAll; }

const OptionRow& option_row(OptionId id) { return rows::kAll[static_cast<std::size_t>(id)]; }

std::string_view help_in(Command command, const OptionRow& row) {
  return (row.elsewhere.commands & bit(command)) != 0 ? row.elsewhere.help : row.help;
}

const OptionRow* find_option(std::string_view name, const CommandRow* command) {
  const OptionRow* found = nullptr;
  for (const OptionRow& row : rows::kAll) {
    if (row.name != name) continue;
    if (command == nullptr || has_option(command, row)) return &row;
    found = &row;
  }
  if (found != nullptr) return found;
  for (const OptionAlias& alias : kAliases) {
    if (alias.name == name) return &option_row(alias.id);
  }
  return nullptr;
}

const OptionRow* find_option(char letter, const CommandRow* command) {
  if (letter == 'e') return &option_row(OptionId::kExclusive);  // flock(1) has -e and -x
  const OptionRow* found = nullptr;
  for (const OptionRow& row : rows::kAll) {
    if (row.letter != letter || letter == 0) continue;
    if (command == nullptr || has_option(command, row)) return &row;
    found = &row;
  }
  return found;
}

std::string_view nearest_option(std::string_view word, Command command) {
  Nearest nearest(word);
  for (const OptionRow& row : rows::kAll) {
    if (has_option(command, row)) nearest.offer(row.name);
  }
  for (const OptionAlias& alias : kAliases) {
    if (has_option(command, option_row(alias.id))) nearest.offer(alias.name);
  }
  return nearest.best();
}

}  // namespace dlock
