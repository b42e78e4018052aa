// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/command_table.h"

#include <bit>

#include "lib/config/suggest.h"

namespace dlock {
namespace {

constexpr std::string_view kUse = "Run a command under a lock";
constexpr std::string_view kScripts = "Hold a lock in a script";
constexpr std::string_view kStockHelp = "Sell from a stock";
constexpr std::string_view kLookHelp = "Look, check and repair";
constexpr std::string_view kSetUp = "Set up";

constexpr CommandRow kCommandRows[] = {
    {Command::kRun, "run", "lock exec with", "KEY... -- CMD [ARG...]", Operands::kKeysAndCommand, "", kUse,
     "take the lock, run CMD, keep the lock alive, release it",
     "Options end at the first KEY; what follows -- reaches CMD byte for byte. Several keys are taken all or none. "
     "'dlock run KEY CMD' without -- takes exactly one key. The exit status is CMD's own.",
     "dlock run deploy -- ./deploy.sh --verbose\n"
     "dlock run -n -E 0 nightly -- backup        # cron: skip while it still runs\n"
     "dlock run -w 30 db -c 'dump | gzip > f.gz' # wait at most 30 s, use a shell\n"},
    {Command::kHold, "hold", "", "KEY", Operands::kOneKey, "", kScripts,
     "take the lock, print 'OWNER TOKEN', hold it until stdin ends",
     "For a bash coprocess: the lock is gone when the script is, whatever ends it.",
     "coproc dlock hold deploy; read -r owner token <&\"${COPROC[0]}\"\n"
     "dlock hold --shared report < fifo\n"},
    {Command::kAcquire, "acquire", "", "KEY", Operands::kOneKey, "", kScripts,
     "take a lease and leave no process behind; print 'OWNER TOKEN'",
     "Needs --ttl, or --watch-pid PID to keep the lock until that process ends. Release it with 'dlock release'.",
     "read -r owner token < <(dlock acquire deploy --ttl 10m)\n"
     "eval \"$(dlock acquire deploy --ttl 10m --shell)\" || exit\n"
     "dlock acquire ci --watch-pid $$\n"},
    {Command::kRenew, "renew", "", "KEY", Operands::kOneKey, "", kScripts, "make a lease taken by acquire last longer",
     "", "dlock renew deploy --owner \"$owner\" --ttl 10m\n"},
    {Command::kRelease, "release", "", "KEY", Operands::kOneKey, "", kScripts, "release a lease taken by acquire",
     "79 when it is no longer held, 0 with --if-held.",
     "dlock release deploy --owner \"$owner\"\n"
     "dlock release deploy --owner \"$owner\" --if-held   # in a trap\n"},
    {Command::kWait, "wait", "", "KEY", Operands::kOneKey, "", kScripts, "return when KEY is free; take nothing", "",
     "dlock wait -w 5m deploy && echo free\n"},
    {Command::kFence, "fence", "", "RESOURCE TOKEN [-- CMD [ARG...]]", Operands::kFence, "", kScripts,
     "refuse a fencing token lower than the highest seen, then run CMD",
     "The check that a resource makes: it remembers the highest token seen for RESOURCE and refuses a lower one (79).",
     "dlock fence disk1 \"$DLOCK_TOKEN\" -- mkfs.ext4 /dev/sdb1\n"},
    {Command::kCheck, "check", "", "KEY TOKEN", Operands::kKeyAndToken, "", kScripts,
     "is this fencing token still the holder's?", "0 when it is, 79 when it is not.",
     "dlock check deploy \"$DLOCK_TOKEN\" || exit\n"},
    {Command::kStock, "stock", "", "ACTION [NAME] [-- CMD [ARG...]]", Operands::kStock,
     "create show take batch run refund add rebalance resize drop", kStockHelp,
     "a stock that is never oversold, split in segments",
     "The items are spread over segments, so that buyers do not wait for each other. A request that is sent twice "
     "with the same --id counts once. 80: not enough in stock. More, with examples to try: man dlock-stock.",
     "dlock stock create phone --quantity 1000 --segments 20\n"
     "dlock stock take phone --qty 2 --id order-76        # prints: SEGMENT QTY\n"
     "dlock stock run phone --id order-77 -- ./create-order\n"
     "dlock stock batch phone <requests >answers          # lines: take ID [QTY]\n"
     "dlock stock refund phone --id order-76\n"},
    {Command::kInspect, "inspect", "status list", "[KEY...]", Operands::kAnyKeys, "", kLookHelp,
     "holders and waiters: who, since when, until when, what for",
     "Without a KEY: all live locks. 'deploy/*' means those that match.",
     "dlock inspect\n"
     "dlock inspect deploy --json | jq '.holders[].host'\n"
     "dlock inspect --watch\n"},
    {Command::kRevoke, "revoke", "", "KEY", Operands::kOneKey, "", kLookHelp,
     "ask the holder to end; return when it has released the lock",
     "Its command gets what --on-lost says, and the lock passes only when the command is gone. 75 when it is still "
     "held "
     "after --wait. A lease of acquire is released at once.",
     "dlock revoke -m 'release 2.5' deploy/prod\n"
     "dlock revoke -w 30s --force deploy/prod    # then take the lock from it\n"
     "dlock revoke --slot 3 ci/runners\n"},
    {Command::kForceRelease, "force-release", "break", "KEY", Operands::kOneKey, "", kLookHelp,
     "free a stuck lock: show the holder, ask, free only what was shown",
     "The old holder is told, and ends its command, if it can be reached; otherwise it may still be running.",
     "dlock force-release deploy\n"
     "dlock force-release deploy --yes --token 41\n"
     "dlock force-release 'ci/*'         # each that is held, one after the other\n"},
    {Command::kHistory, "history", "", "[KEY...]", Operands::kAnyKeys, "", kLookHelp,
     "what happened: who waited for, held or lost what, and for how long",
     "From what --events records, in a file or the journal. 'deploy/*' means all keys that match.",
     "dlock history --since 1h\n"
     "dlock history -n 20 --follow\n"
     "dlock history deploy/prod --since 03:00 --until 04:00\n"
     "dlock history 'deploy/*' --since 1d --svg > night.svg\n"},
    {Command::kMetrics, "metrics", "", "", Operands::kNone, "", kLookHelp,
     "holders, waiters, and what was recorded, as OpenMetrics text", "For node_exporter's textfile collector.",
     "dlock metrics --match 'deploy/*'\n"
     "dlock metrics > dlock.prom.new && mv dlock.prom.new dlock.prom\n"},
    {Command::kGc, "gc", "", "", Operands::kNone, "", kLookHelp, "remove what dead holders left", "",
     "dlock gc --dry-run\n"},
    {Command::kDoctor, "doctor", "", "", Operands::kNone, "", kLookHelp,
     "check configuration and backend; each line ok, warn or fail, with the remedy", "",
     "dlock doctor\n"
     "dlock doctor -b redis://10.0.3.7\n"},
    {Command::kPing, "ping", "", "", Operands::kNone, "", kLookHelp, "how long one acquire and release takes", "",
     "dlock ping\n"},
    {Command::kBench, "bench", "", "[stock]", Operands::kMaybeWord, "stock", kLookHelp,
     "measure latency and throughput of this backend from this host",
     "With 'stock': orders per second with one and with twenty segments, with and without a step of 20 ms.",
     "dlock bench --count 1000 --json\n"
     "dlock bench stock\n"},
    {Command::kVerify, "verify", "", "", Operands::kNone, "", kLookHelp,
     "test what dlock promises in this store, while processes and the network fail",
     "Its workers take, lose and release locks that nobody else uses; the history of that is judged. 0: all held, "
     "1: broken. The ttl is 3s unless --ttl says otherwise. What that can show and what it cannot: man dlock-verify.",
     "dlock verify --duration 10s\n"
     "dlock verify -b redis://10.0.3.7 --faults kill,cut --json\n"
     "dlock verify -b redis://10.0.3.7 --hook 'redis-cli client pause 3000 #'\n"},
    {Command::kSetup, "setup", "", "", Operands::kNone, "", kSetUp, "create what the backend needs on its server", "",
     "dlock setup --print\n"},
    {Command::kConfig, "config", "", "show [KEY]|check", Operands::kConfig, "show check", kSetUp,
     "show the merged settings, each with its origin; or check them",
     "With a KEY: those that hold for it, [key.\"PATTERN\"] included. 'check' lists every mistake.",
     "dlock config show\n"
     "dlock config show deploy/prod\n"
     "dlock config check --config ./dlock.toml\n"},
    {Command::kCompletion, "completion", "", "bash|zsh|fish", Operands::kOneWord, "bash zsh fish", kSetUp,
     "print the completion script for a shell", "",
     "dlock completion bash > ~/.local/share/bash-completion/completions/dlock\n"},
    {Command::kHelp, "help", "", "[COMMAND [ACTION]]", Operands::kMaybeCommand, "", kSetUp,
     "explain dlock, or one command", "", "dlock help run\n"},
    {Command::kVersion, "version", "", "", Operands::kNone, "", kSetUp, "print the version", "", "dlock --version\n"},
    {Command::kComplete, "__complete", "", "WORD...", Operands::kMaybeCommand, "", "",
     "what may follow, for the completion scripts", "", ""},
    {Command::kSection, "__section", "", "FILE NAME DURATION", Operands::kMaybeCommand, "", "",
     "what the workers of verify run under their locks", "", ""},
    {Command::kServers, "__servers", "", "", Operands::kNone, "", "", "the servers before which verify puts its proxy",
     "", ""},
};

}  // namespace

std::span<const CommandRow> command_rows() { return kCommandRows; }

const CommandRow& command_row(Command command) {
  const CommandRow* row = kCommandRows;
  while (row->command != command) ++row;
  return *row;
}

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : kCommandRows) {
    bool found = row.name == name;
    for_each_word(row.aliases, [&](std::string_view alias) { found = found || alias == name; });
    if (found) return &row;
  }
  return nullptr;
}

std::string_view nearest_command(std::string_view word) {
  Nearest nearest(word);
  for (const CommandRow& row : kCommandRows) {
    if (row.group.empty()) continue;
    nearest.offer(row.name);
    for_each_word(row.aliases, [&](std::string_view alias) { nearest.offer(alias); });
  }
  return nearest.best();
}

std::string command_list(CommandSet commands) {
  if (std::popcount(commands) > 6) return {};
  std::string text;
  std::string_view last;
  for (const CommandRow& row : kCommandRows) {
    if ((bit(row.command) & commands) == 0 || row.group.empty()) continue;
    if (!last.empty()) text.append(text.empty() ? "" : ", ").append(last);
    last = row.name;
  }
  if (!text.empty()) text += " and ";
  return text.append(last);
}

}  // namespace dlock
