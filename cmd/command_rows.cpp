// SPDX-License-Identifier: Apache-2.0
// The rows of cmd/options/command_table.h, here because they know what each command does.
#include "cmd/call.h"
#include "cmd/commands/commands.h"
#include "cmd/options/command_table.h"
#include "cmd/show/exit_status.h"
#include "lib/base/json_writer.h"

namespace dlock {
namespace {

using enum CommandTrait;

template <int (*command)(const Options&, const Runtime&, Output&)>
int here(const Call& call) {
  return command(call.options, call.runtime, call.out);
}

template <StoreCommand command>
int on_store(const Call& call) {
  return ask_store(call, command);
}

int run(const Call& call) { return run_command(call.options, call.runtime, call.environment); }

int wait(const Call& call) { return wait_command(call.options, call.runtime); }

int stock(const Call& call) { return call.options.stock->action == StockAction::kRun ? run(call) : ask_stock(call); }

int force_release(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out) {
  return force_release_command(options, backend, runtime, out);
}

int print_result(const Call& call, const Result<std::string>& text) {
  const Log& log = call.runtime.log;
  return text ? print(call.out, log, *text) : fail(log, text.error());
}

int completion(const Call& call) { return print_result(call, completion_script(call.options.words.front())); }

int help(const Call& call) { return print_result(call, help_text(call.options.words)); }

std::string version_text(bool as_json) {
  if (!as_json) return "dlock " DLOCK_VERSION "\n";
  JsonWriter json("dlock.version/1");
  json.field("version", DLOCK_VERSION).end_object();
  return json.line();
}

int version(const Call& call) { return print_result(call, version_text(call.options.json)); }

constexpr std::string_view kUse = "Run a command under a lock";
constexpr std::string_view kScripts = "Hold a lock in a script";
constexpr std::string_view kStockHelp = "Sell from a stock";
constexpr std::string_view kLookHelp = "Look, check and repair";
constexpr std::string_view kSetUp = "Set up";

constexpr CommandRow kCommandRows[] = {
    {Command::kRun, run, kHasEffect, "run", "KEY... -- CMD [ARG...]", Operands::kKeysAndCommand, "", kUse,
     "take the lock, run CMD, keep the lock alive, release it",
     "Options end at the first KEY; what follows -- reaches CMD byte for byte. Several keys are taken all or none. "
     "'dlock run KEY CMD' without -- takes exactly one key. The exit status is CMD's own.",
     "dlock run deploy -- ./deploy.sh --verbose\n"
     "dlock run -n -E 0 nightly -- backup        # cron: skip while it still runs\n"
     "dlock run -w 30 db -c 'dump | gzip > f.gz' # wait at most 30 s, use a shell\n"},
    {Command::kHold, here<hold_command>, kPrints, "hold", "KEY", Operands::kOneKey, "", kScripts,
     "take the lock, print 'OWNER TOKEN', hold it until stdin ends",
     "For a bash coprocess: the lock is gone when the script is, whatever ends it.",
     "coproc dlock hold deploy; read -r owner token <&\"${COPROC[0]}\"\n"
     "dlock hold --shared report < fifo\n"},
    {Command::kAcquire, here<acquire_command>, kPrints, "acquire", "KEY", Operands::kOneKey, "", kScripts,
     "take a lease and leave no process behind; print 'OWNER TOKEN'",
     "Needs --ttl, or --watch-pid PID to keep the lock until that process ends. Release it with 'dlock release'.",
     "read -r owner token < <(dlock acquire deploy --ttl 10m)\n"
     "eval \"$(dlock acquire deploy --ttl 10m --shell)\" || exit\n"
     "dlock acquire ci --watch-pid $$\n"},
    {Command::kRenew, on_store<renew_command>, kHasEffect, "renew", "KEY", Operands::kOneKey, "", kScripts,
     "make a lease taken by acquire last longer", "", "dlock renew deploy --owner \"$owner\" --ttl 10m\n"},
    {Command::kRelease, on_store<release_command>, kHasEffect | kLooksOrFrees, "release", "KEY", Operands::kOneKey, "",
     kScripts, "release a lease taken by acquire", "79 when it is no longer held, 0 with --if-held.",
     "dlock release deploy --owner \"$owner\"\n"
     "dlock release deploy --owner \"$owner\" --if-held   # in a trap\n"},
    {Command::kWait, wait, kHasEffect, "wait", "KEY", Operands::kOneKey, "", kScripts,
     "return when KEY is free; take nothing", "", "dlock wait -w 5m deploy && echo free\n"},
    {Command::kFence, on_store<fence_command>, kHasEffect, "fence", "RESOURCE TOKEN [-- CMD [ARG...]]",
     Operands::kFence, "", kScripts, "refuse a fencing token lower than the highest seen, then run CMD",
     "The check that a resource makes: it remembers the highest token seen for RESOURCE and refuses a lower one (79).",
     "dlock fence disk1 \"$DLOCK_TOKEN\" -- mkfs.ext4 /dev/sdb1\n"},
    {Command::kCheck, on_store<check_command>, kHasEffect | kLooksOrFrees, "check", "KEY TOKEN", Operands::kKeyAndToken,
     "", kScripts, "is this fencing token still the holder's?", "0 when it is, 79 when it is not.",
     "dlock check deploy \"$DLOCK_TOKEN\" || exit\n"},
    {Command::kStock, stock, kPrints, "stock", "ACTION [NAME] [-- CMD [ARG...]]", Operands::kStock,
     "create show take batch run refund add rebalance resize drop", kStockHelp,
     "a stock that is never oversold, split in segments",
     "The items are spread over segments, so that buyers do not wait for each other. A request that is sent twice "
     "with the same --id counts once. 80: out of stock. More, with examples to try: man dlock-stock.",
     "dlock stock create phone --quantity 1000 --segments 20\n"
     "dlock stock take phone --qty 2 --id order-76        # prints: SEGMENT QTY\n"
     "dlock stock run phone --id order-77 -- ./create-order\n"
     "dlock stock batch phone <requests >answers          # lines: take ID [QTY]\n"
     "dlock stock refund phone --id order-76\n"},
    {Command::kInspect, on_store<inspect_command>, kLooksOrFrees, "inspect", "[KEY...]", Operands::kAnyKeys, "",
     kLookHelp, "holders and waiters: who, since when, until when, what for",
     "Without a KEY: all live locks. 'deploy/*' means those that match.",
     "dlock inspect\n"
     "dlock inspect deploy --json | jq '.holders[].host'\n"
     "dlock inspect --watch\n"},
    {Command::kRevoke, on_store<revoke_command>, kHasEffect | kLooksOrFrees, "revoke", "KEY", Operands::kOneKey, "",
     kLookHelp, "ask the holder to end; return when it has released the lock",
     "Its command gets what --on-lost says, and the lock passes only when the command is gone. 75 when it is still "
     "held "
     "after --wait. A lease of acquire is released at once.",
     "dlock revoke -m 'release 2.5' deploy/prod\n"
     "dlock revoke -w 30s --force deploy/prod    # then take the lock from it\n"
     "dlock revoke --slot 3 ci/runners\n"},
    {Command::kForceRelease, on_store<force_release>, kHasEffect | kLooksOrFrees, "force-release", "KEY",
     Operands::kOneKey, "", kLookHelp, "free a stuck lock: show the holder, ask, free only what was shown",
     "If the old holder can be reached, it is notified and ends its command; otherwise it may still be running.",
     "dlock force-release deploy\n"
     "dlock force-release deploy --yes --token 41\n"
     "dlock force-release 'ci/*'         # each that is held, one after the other\n"},
    {Command::kHistory, here<history_command>, kLooksOrFrees, "history", "[KEY...]", Operands::kAnyKeys, "", kLookHelp,
     "what happened: who waited for, held or lost what, and for how long",
     "From what --events records, in a file or the journal. 'deploy/*' means all keys that match.",
     "dlock history --since 1h\n"
     "dlock history -n 20 --follow\n"
     "dlock history deploy/prod --since 03:00 --until 04:00\n"
     "dlock history 'deploy/*' --since 1d --svg > night.svg\n"},
    {Command::kMetrics, on_store<metrics_command>, kLooksOrFrees, "metrics", "", Operands::kNone, "", kLookHelp,
     "holders, waiters, and what was recorded, as OpenMetrics text", "For node_exporter's textfile collector.",
     "dlock metrics --match 'deploy/*'\n"
     "dlock metrics > dlock.prom.new && mv dlock.prom.new dlock.prom\n"},
    {Command::kGc, on_store<gc_command>, kHasEffect, "gc", "", Operands::kNone, "", kLookHelp,
     "remove what dead holders left", "", "dlock gc --dry-run\n"},
    {Command::kDoctor, ask_doctor, kLooksOrFrees, "doctor", "", Operands::kNone, "", kLookHelp,
     "check configuration and backend; each line ok, warn or fail, with the remedy", "",
     "dlock doctor\n"
     "dlock doctor -b redis://10.0.3.7\n"},
    {Command::kPing, on_store<ping_command>, kPrints, "ping", "", Operands::kNone, "", kLookHelp,
     "how long one acquire and release takes", "", "dlock ping\n"},
    {Command::kBench, run_bench, kPrints, "bench", "[stock]", Operands::kMaybeWord, "stock", kLookHelp,
     "measure latency and throughput of this backend from this host",
     "With 'stock': orders per second with one and with twenty segments, with and without a step of 20 ms.",
     "dlock bench --count 1000 --json\n"
     "dlock bench stock\n"},
    {Command::kSetup, on_store<setup_command>, kHasEffect, "setup", "", Operands::kNone, "", kSetUp,
     "create what the backend needs on its server", "", "dlock setup --print\n"},
    {Command::kConfig, here<config_command>, kLooksOrFrees, "config", "show [KEY]|check", Operands::kConfig,
     "show check", kSetUp, "show the merged settings, each with its origin; or check them",
     "With a KEY: those that apply to it, [key.\"PATTERN\"] included. 'check' lists every error.",
     "dlock config show\n"
     "dlock config show deploy/prod\n"
     "dlock config check --config ./dlock.toml\n"},
    {Command::kCompletion, completion, kNeedsNoSettings, "completion", "bash|zsh|fish", Operands::kOneWord,
     "bash zsh fish", kSetUp, "print the completion script for a shell", "",
     "dlock completion bash > ~/.local/share/bash-completion/completions/dlock\n"},
    {Command::kHelp, help, kNeedsNoSettings, "help", "[COMMAND [ACTION]|options]", Operands::kMaybeCommand, "", kSetUp,
     "explain dlock, one command, or the general options", "", "dlock help run\n"},
    {Command::kVersion, version, kNeedsNoSettings, "version", "", Operands::kNone, "", kSetUp, "print the version", "",
     "dlock --version\n"},
    {Command::kComplete, complete, kLooksOrFrees, "__complete", "WORD...", Operands::kMaybeCommand, "", "",
     "what may follow, for the completion scripts", "", ""},
};

}  // namespace

std::span<const CommandRow> command_rows() { return kCommandRows; }

}  // namespace dlock
