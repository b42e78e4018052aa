// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_table.h"

#include <algorithm>

#include "cmd/options/option_reader.h"
#include "lib/config/suggest.h"
#include "lib/lock/slots.h"
#include "lib/stock/stock.h"

namespace dlock::rows {

using namespace std::chrono_literals;
using enum OptionId;
using Row = OptionRow;

// The commands, and actions of stock, that share options.

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

constexpr ActionSet kOfSale = bit(StockAction::kRun);
constexpr ActionSet kOfBuyers = bit(StockAction::kTake) | kOfSale;
constexpr ActionSet kOfItems = kOfBuyers | bit(StockAction::kAdd) | bit(StockAction::kRefund);

constexpr OptionValue flag{};
constexpr OptionValue text(std::string_view name) { return {ValueKind::kText, name}; }
constexpr OptionValue file(std::string_view name) { return {ValueKind::kFile, name}; }
constexpr OptionValue number(std::string_view name, std::int64_t least, std::int64_t most) {
  return {ValueKind::kNumber, name, least, most};
}
constexpr OptionValue duration(std::string_view name, Duration least = 0s, Duration most = Duration::max()) {
  return {ValueKind::kDuration, name, least.count(), most.count()};
}
constexpr OptionValue choice(std::string_view name) { return {ValueKind::kChoice, name}; }
constexpr OptionValue backend(std::string_view name) { return {ValueKind::kBackend, name}; }

constexpr auto kStockOf = &Options::stock;

constexpr std::string_view kOnePermit = "leave one out; --permits 1 is exclusive";
constexpr std::string_view kQueues = "it waits in the queue, and --tries out of it: limit the wait with --wait";

constexpr OptionRow kAll[] = {
    // Options of commands that take a lock: where, for how long, what for.
    Row("backend", 'b', backend("URL|NAME"), nullptr, kEveryCommand,
        "where the locks are kept: a URL, or a name from the configuration; its password: $DLOCK_PASSWORD",
        {.id = kBackend,
         .anywhere = true,
         .variable = "DLOCK_BACKEND",
         .config = kInDefaults | kInKey,
         .preset = "local:"}),
    Row("config", 'C', file("FILE"), nullptr, kEveryCommand,
        "a configuration file that takes precedence over the user's and the system's",
        {.id = kConfig, .anywhere = true, .variable = "DLOCK_CONFIG"}),
    Row("nonblock", 'n', flag, into<&Options::nonblock>, kWaiters | kFence | kStock | kRevoke, "try once",
        {.id = kNonblock,
         .preset = "wait for ever",
         .elsewhere = {kRevoke, "ask, and do not wait"},
         .excludes = {{kWait, "leave one out"}},
         .actions = kOfBuyers}),
    Row("wait", 'w', duration("D"), into<&Options::wait>, kWaiters | kFence | kStock | kRevoke,
        "give up after D; 0 is the same as -n",
        {.id = kWait,
         .variable = "DLOCK_WAIT",
         .config = kInDefaults | kInKey,
         .flag_only = kRevoke,
         .preset = "wait for ever",
         .actions = kOfBuyers | bit(StockAction::kBatch)}),
    Row("tries", 0, number("N", 1, 100'000'000), into<&Options::tries>, kTakers, "give up after N attempts",
        {.id = kTries, .config = kInDefaults | kInKey, .rare = kEveryCommand}),
    Row("retry-interval", 0, duration("D", 1ms), into<&Options::retry_interval>, kTakers,
        "the pause between attempts, with --tries",
        {.id = kRetryInterval,
         .config = kInDefaults | kInKey,
         .preset = "1s",
         .rare = kEveryCommand,
         .needs = {{kTries, "add --tries N; without it dlock waits in the queue"}}}),
    Row("conflict-exit-code", 'E', number("N", 0, 255), into<&Options::conflict_exit_code>, kWaiters | kFence | kStock,
        "exit status when the lock is busy; -E 0 is the cron form",
        {.id = kConflictExitCode,
         .variable = "DLOCK_CONFLICT_EXIT_CODE",
         .config = kInDefaults | kInKey,
         .preset = "75",
         .elsewhere = {kStock, "exit status when the wait is over, but enough items may still come back"},
         .actions = kOfBuyers}),
    Row("warn-held", 0, duration("D[=N]"), parsed<parse_warn_held, &Options::warn_held>, kWaiters,
        "on giving up a lock held for D: say who holds it, even with -q or -E 0, and exit with N",
        {.variable = "DLOCK_WARN_HELD", .config = kInDefaults | kInKey}),
    Row("exclusive", 'x', flag, nullptr, kTakers, "one holder", {.id = kExclusive, .preset = "exclusive"}),
    Row("shared", 's', flag, nullptr, kTakers, "any number of shared holders, but no exclusive one", {.id = kShared}),
    Row("permits", 0, number("N", 1, 1'000'000), into<&Options::permits>, kTakers,
        "N holders at most, DLOCK_SLOT 0 to N-1 for each; all callers of a key must agree on N",
        {.id = kPermits, .config = kInKey, .excludes = {{kShared, kOnePermit}, {kExclusive, kOnePermit}}}),
    Row("slots", 0, text("NAME,NAME,..."), parsed<parse_slots, &Options::slots>, kTakers,
        "one holder per name; each finds its own in DLOCK_SLOT; implies --permits",
        {.id = kSlots, .excludes = {{kShared, kOnePermit}, {kExclusive, kOnePermit}}}),
    Row("fair", 0, flag, into<&Options::fair>, kTakers, "first come, first served",
        {.config = kInDefaults | kInKey, .preset = "off"}),
    Row("replace", 0, flag, set<Supersedes::kReplace, &Options::supersedes>, kForRun,
        "end the holder, and run once it is gone; a later --replace supersedes this run",
        {.id = kReplace, .excludes = {{kNewest, "--newest lets the running one finish"}, {kTries, kQueues}}}),
    Row("newest", 0, flag, set<Supersedes::kNewest, &Options::supersedes>, kForRun,
        "give up the wait (75) as soon as a later run with --newest waits",
        {.id = kNewest, .excludes = {{kTries, kQueues}}}),
    Row("ttl", 't', duration("D", 1s), into<&Options::ttl>, kTakers | bit(Command::kRenew) | kStock,
        "lease length, at least 1s",
        {.id = kTtl,
         .variable = "DLOCK_TTL",
         .config = kInDefaults | kInBackend | kInKey,
         .preset = "30s",
         .actions = kOfSale}),
    Row("kill-after", 'k', duration("D"), into<&Options::kill_after>, kTakers | kStock,
        "time between TERM and KILL when the lock is lost",
        {.id = kKillAfter,
         .config = kInDefaults | kInBackend | kInKey,
         .preset = "5s, at most ttl/6",
         .actions = kOfSale}),
    Row("on-lost", 0, text("term|kill|signal:SIG"), parsed<parse_on_lost, &Options::on_lost>, kForRun | kStock,
        "what happens to CMD when the lock is lost",
        {.id = kOnLost,
         .config = kInDefaults | kInKey,
         .preset = "term",
         .words = "term kill signal:USR1 signal:HUP",
         .actions = kOfSale}),
    Row("lock-delay", 0, duration("D"), into<&Options::lock_delay>, kTakers,
        "keep others out for D after a holder ended without releasing the lock",
        {.config = kInDefaults | kInBackend | kInKey, .preset = "0", .rare = kEveryCommand}),
    Row("at-least", 0, duration("D"), into<&Options::at_least>, kForRun,
        "keep the lock for at least D from the start, even if CMD ends earlier",
        {.config = kInDefaults | kInKey, .preset = "0"}),
    Row("once", 0, text("SLOT"), nullptr, kForRun,
        "run once for SLOT of the key, such as \"$(date +%F)\"; later: 0, or the status of -E", {.id = kOnce}),
    Row("remember", 0, duration("D", 1s, 24h * 366), into<&Options::remember>, kForRun,
        "how long a slot of --once is remembered; at most 366d",
        {.config = kInDefaults | kInKey, .preset = "7d", .needs = {{kOnce, "add --once SLOT"}}}),
    Row("max-hold", 0, duration("D", 1ms), into<&Options::max_hold>, kForRun | kHold | kStock,
        "held for D: end CMD, as after a loss, and exit with 124",
        {.id = kMaxHold,
         .variable = "DLOCK_MAX_HOLD",
         .config = kInDefaults | kInKey,
         .elsewhere = {kHold, "held for D: release the lock and exit with 124"},
         .actions = kOfSale}),
    Row("fallback", 0, backend("URL|NAME"), nullptr, kWaiters,
        "the backend to use when the one before it is unreachable (repeatable)",
        {.id = kFallback,
         .repeats = true,
         .variable = "DLOCK_FALLBACK",
         .config = kInDefaults | kInBackend,
         .preset = "none"}),
    Row("if-unavailable", 0, choice("fail|run"), into<&Options::run_if_unavailable>, kForRun,
        "when no backend answers: fail, or run CMD unlocked with a warning",
        {.id = kIfUnavailable, .config = kInDefaults | kInBackend, .preset = "fail"}),
    Row("connect-timeout", 0, duration("D", 1ms), into<&Options::connect_timeout>, kConnecting,
        "how long to try an unreachable backend",
        {.config = kInDefaults | kInBackend,
         .preset = "5s",
         .rare = kEveryCommand & ~kWaiters,
         .actions = kEveryAction}),
    Row("command", 'c', text("STR"), into<&Options::shell_command>, kForRun | kStock,
        "run /bin/sh -c STR; may follow the KEY",
        {.id = kCommandText, .elsewhere = {kStock, "use /bin/sh -c STR as CMD"}, .actions = kOfSale}),
    Row("close", 'o', flag, into<&Options::close_lock>, kForRun, "do not pass the local lock's descriptor to CMD",
        {.id = kClose, .rare = kEveryCommand}),
    Row("reason", 'm', text("TEXT"), parsed<parse_reason, &Options::reason>,
        kWaiters | bit(Command::kForceRelease) | kRevoke,
        "what the lock is for, shown to those who wait; at most 256 bytes",
        {.variable = "DLOCK_REASON",
         .config = kInDefaults | kInKey,
         .flag_only = bit(Command::kForceRelease) | kRevoke,
         .elsewhere = {bit(Command::kForceRelease) | kRevoke, "shown to those who lose the lock; at most 256 bytes"}}),
    Row("report", 0, file("FILE|fd:N"), parsed<parse_report, &Options::report>, kForRun | kStock,
        "write one JSON line about the outcome", {.config = kInDefaults, .words = "fd:3", .actions = kOfSale}),
    Row("events", 0, file("FILE|journald|fd:N"), events,
        kWaiters | bit(Command::kRenew) | bit(Command::kRelease) | bit(Command::kForceRelease) | kRevoke | kHistory |
            kMetrics | bit(Command::kInspect),
        "record what happens to the lock, one JSON line per event",
        {.variable = "DLOCK_EVENTS",
         .config = kInDefaults | kInKey,
         .preset = "off",
         .elsewhere = {kHistory | kMetrics | bit(Command::kInspect), "where the events were recorded"},
         .words = "journald fd:3 off"}),
    // Options of single commands, then of stocks, then what is said and how.
    Row("watch-pid", 0, number("PID", 1, 1 << 22), into<&Options::watch_pid>, kAcquire,
        "keep the lock until that process ends"),
    Row("owner", 0, text("OWNER"), parsed<Owner::parse, &Options::owner>, bit(Command::kRenew) | bit(Command::kRelease),
        "the handle that acquire printed"),
    Row("slot", 0, text("SLOT"), into<&Options::slot>, kRevoke | bit(Command::kRelease),
        "ask only the holder of this permit: its number or name",
        {.id = kSlot, .elsewhere = {bit(Command::kRelease), "forget that SLOT has run (run --once)"}}),
    Row("if-held", 0, flag, into<&Options::if_held>, bit(Command::kRelease), "succeed even if it is no longer held"),
    Row("token", 0, text("N"), parsed<FencingToken::parse, &Options::token>, bit(Command::kForceRelease),
        "only if the holder's fencing token is N"),
    Row("yes", 'y', flag, into<&Options::yes>, bit(Command::kForceRelease) | kStock, "do not ask",
        {.id = kYes,
         .elsewhere = {kStock, "required, because the items and all requests are forgotten"},
         .actions = bit(StockAction::kDrop)}),
    Row("foreign-data", 0, flag, into<&Options::foreign_data>, bit(Command::kForceRelease),
        "delete what is at the key even if it is not a lock"),
    Row("force", 0, flag, into<&Options::force>, kRevoke,
        "when --wait is over, take the lock from those who still hold it",
        {.excludes = {{kSlot, "--force takes the permits of all holders, and --slot asks one"}},
         .needs = {{kWait, "say how much time the holder gets to end: --wait D"}, {kNonblock}}}),
    Row("watch", 0, flag, into<&Options::watch>, bit(Command::kInspect) | kStock, "live view; q quits",
        {.id = kWatch, .actions = bit(StockAction::kShow)}),
    Row("interval", 0, duration("D", 100ms), into<&Options::interval>, bit(Command::kInspect) | kStock,
        "refresh every D, with --watch",
        {.preset = "1s", .needs = {{kWatch, "add --watch"}}, .actions = bit(StockAction::kShow)}),
    Row("older-than", 0, duration("D"), into<&Options::older_than>, bit(Command::kInspect),
        "only locks that are held for longer than D; exit status 1 if there is one, 0 if none",
        {.excludes = {{kWatch, "choose one"}}}),
    Row("dry-run", 0, flag, into<&Options::dry_run>, bit(Command::kGc), "print what would be removed, remove nothing"),
    Row("since", 0, text("WHEN"), parsed<parse_past, &Options::since>, kHistory,
        "from then on: 1h (ago), today, yesterday, 03:00, 2026-02-03T03:00:00Z"),
    Row("until", 0, text("WHEN"), parsed<parse_past, &Options::until>, kHistory, "until then"),
    Row("last", 'n', number("N", 1, 1'000'000), into<&Options::last>, kHistory, "only the last N attempts"),
    Row("follow", 'f', flag, into<&Options::follow>, kHistory, "go on, and print each attempt when it ends",
        {.id = kFollow}),
    Row("svg", 0, flag, into<&Options::svg>, kHistory, "print a picture: who waited, held, lost, and when",
        {.id = kSvg, .excludes = {{kJson, "choose one"}, {kFollow, "choose one"}}}),
    Row("match", 0, text("PATTERN"), into<&Options::match>, kMetrics, "only keys that match PATTERN"),
    Row("print", 0, flag, into<&Options::print>, bit(Command::kSetup), "print what would be done instead of doing it"),
    Row("count", 0, number("N", 1, kMostBenchRounds), into<&Options::count>, bit(Command::kBench),
        "at most N rounds, or orders, for each process; a measurement also ends with its time",
        {.preset = "20000; stock: 50000"}),
    Row("quantity", 0, text("N"), parsed<parse_stock_size, kStockOf, &StockOptions::quantity>, kStock,
        "how many items there are", {.id = kQuantity, .actions = bit(StockAction::kCreate)}),
    Row("segments", 0, number("S", 1, kMostSegments), into<kStockOf, &StockOptions::segments>, kStock,
        "over how many segments the items are spread",
        {.id = kSegments, .preset = "create: 1", .actions = bit(StockAction::kCreate) | bit(StockAction::kResize)}),
    Row("if-not-exists", 0, flag, into<kStockOf, &StockOptions::if_not_exists>, kStock, "leave an existing stock alone",
        {.actions = bit(StockAction::kCreate)}),
    Row("qty", 0, text("Q"), parsed<parse_items, kStockOf, &StockOptions::qty_given>, kStock,
        "how many items; refund without it: all", {.id = kQty, .preset = "1", .actions = kOfItems}),
    Row("id", 0, text("ID"), parsed<parse_request_id, kStockOf, &StockOptions::id>, kStock,
        "the request; the same id twice is one request", {.id = kId, .actions = kOfItems}),
    Row("refund-id", 0, text("ID"), parsed<parse_request_id, kStockOf, &StockOptions::refund_id>, kStock,
        "one of several refunds of a request; the same id twice is one refund", {.actions = bit(StockAction::kRefund)}),
    Row("before-take", 0, flag, into<kStockOf, &StockOptions::before_take>, kStock,
        "close an id that took nothing: a take of it that still comes fails", {.actions = bit(StockAction::kRefund)}),
    Row("requests", 0, flag, into<kStockOf, &StockOptions::requests>, kStock,
        "list the requests that are remembered, the newest first",
        {.id = kRequests, .excludes = {{kWatch, "choose one"}}, .actions = bit(StockAction::kShow)}),
    Row("limit", 0, number("N", 1, 1'000'000), into<kStockOf, &StockOptions::limit>, kStock,
        "at most so many requests, with --requests",
        {.preset = "100", .needs = {{kRequests, "add --requests"}}, .actions = bit(StockAction::kShow)}),
    Row("mode", 0, choice("reserve|lock"), into<kStockOf, &StockOptions::lock_segment>, kStock,
        "set aside and sell at the end; or also hold the lock of the segment",
        {.id = kMode, .preset = "reserve", .actions = kOfSale}),
    Row("json", 0, flag, into<&Options::json>, kPrinters, "JSON instead of text", {.id = kJson, .actions = ~kOfSale}),
    Row("shell", 0, flag, into<&Options::shell>, kAcquire,
        "print DLOCK_OWNER, DLOCK_TOKEN, ... as exports for eval in a shell",
        {.id = kShell, .excludes = {{kJson, "choose one"}}}),
    Row("progress", 0, choice("auto|always|never"), into<&Options::progress>, kWaiters,
        "show on stderr which holder is waited for", {.config = kInDefaults, .preset = "auto"}),
    Row("quiet", 'q', flag, into<&Options::log, &Log::Style::quiet>, kEveryCommand,
        "errors only, and nothing when the lock is busy", {.anywhere = true, .config = kInDefaults, .preset = "off"}),
    Row("verbose", 'v', flag, into<&Options::log, &Log::Style::verbose>, kEveryCommand, "report each step on stderr",
        {.anywhere = true, .preset = "off"}),
    Row("color", 0, choice("auto|always|never"), into<&Options::colour>, kEveryCommand, "colour on stderr and in views",
        {.anywhere = true, .config = kInDefaults, .preset = "auto"}),
    Row("log-format", 0, choice("text|json"), into<&Options::log, &Log::Style::format>, kEveryCommand,
        "how messages on stderr are written",
        {.id = kLogFormat, .anywhere = true, .config = kInDefaults, .preset = "text"}),
    Row("strict", 0, flag, into<&Options::strict>, bit(Command::kConfig) | bit(Command::kDoctor),
        "treat a warning as a failure"),
    Row("help", 'h', flag, nullptr, kEveryCommand, "explain the command", {.id = kHelp, .anywhere = true}),
    Row("version", 'V', flag, nullptr, kEveryCommand, "print the version", {.id = kVersion, .anywhere = true}),
};

}  // namespace dlock::rows

namespace dlock {
namespace {

constexpr bool each_id_has_one_row() {
  for (auto id = OptionId::kBackend; id <= OptionId::kVersion; id = static_cast<OptionId>(static_cast<int>(id) + 1)) {
    if (std::ranges::count(rows::kAll, id, &OptionRow::id) != 1) return false;
  }
  return true;
}
static_assert(each_id_has_one_row());

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

const OptionRow& option_row(OptionId id) { return *std::ranges::find(rows::kAll, id, &OptionRow::id); }

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
