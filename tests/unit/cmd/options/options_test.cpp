// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/options.h"

#include <doctest/doctest.h>

#include <csignal>

#include "lib/base/log.h"
#include "tests/unit/cmd/options/options_world.h"

namespace options_test {

using namespace std::chrono_literals;

TEST_CASE("with nothing said, everything has its default") {
  const Options options = parsed({"run", "k", "--", "true"});
  CHECK(options.command == Command::kRun);
  REQUIRE(options.keys.size() == 1);
  CHECK(options.keys[0].text() == "k");
  REQUIRE(options.child.size() == 2);
  CHECK(options.child[1] == nullptr);
  REQUIRE(options.backends.size() == 1);
  CHECK(options.backends[0].scheme == "local");
  CHECK(options.backends[0].path.empty());
  CHECK(!options.nonblock);
  CHECK(!options.wait);
  CHECK(options.conflict_exit_code == 75);
  CHECK(options.mode == Mode::kExclusive);
  CHECK(options.ttl == 30s);
  CHECK(!options.ttl_given);
  CHECK(options.kill_after == 5s);
  CHECK(options.on_lost.kind == OnLost::Kind::kTerm);
  CHECK(options.connect_timeout == 5s);
  CHECK(options.progress == When::kAuto);
  CHECK(!options.log.quiet);
  CHECK(options.warnings.empty());
}

TEST_CASE("--slots names the permits") {
  const Options options = parsed(run({"--slots", "db1,db2,db3"}));
  CHECK(options.mode == Mode::kPermits);
  CHECK(options.permits == 3);
  CHECK(options.slots == std::vector<std::string>{"db1", "db2", "db3"});
  CHECK(parsed(run({"--slots", "a,b", "--permits", "2"})).permits == 2);
}

TEST_CASE("each option of run arrives with its type") {
  const Options options = parsed(run({"-E",
                                      "0",
                                      "-w",
                                      "1m30s",
                                      "--tries",
                                      "3",
                                      "--retry-interval",
                                      "200ms",
                                      "--permits=4",
                                      "--fair",
                                      "-t",
                                      "20s",
                                      "-k",
                                      "2s",
                                      "--on-lost",
                                      "signal:USR1",
                                      "--lock-delay",
                                      "3s",
                                      "--at-least",
                                      "1h",
                                      "--max-hold",
                                      "2h",
                                      "--warn-held",
                                      "90m=3",
                                      "--connect-timeout",
                                      "0.5",
                                      "-o",
                                      "-m",
                                      "why",
                                      "--report",
                                      "fd:3",
                                      "-qvv",
                                      "--progress",
                                      "never",
                                      "--color",
                                      "always",
                                      "--log-format",
                                      "json"}));
  CHECK(options.conflict_exit_code == 0);
  CHECK(options.wait == Duration(90s));
  CHECK(options.tries == 3);
  CHECK(options.retry_interval == 200ms);
  CHECK(options.mode == Mode::kPermits);
  CHECK(options.permits == 4);
  CHECK(options.fair);
  CHECK(options.ttl == 20s);
  CHECK(options.ttl_given);
  CHECK(options.kill_after == 2s);
  CHECK(options.on_lost.kind == OnLost::Kind::kSignal);
  CHECK(options.on_lost.signal == SIGUSR1);
  CHECK(options.lock_delay == 3s);
  CHECK(options.at_least == 1h);
  CHECK(options.max_hold == 2h);
  CHECK(options.warn_held->after == 90min);
  CHECK(options.warn_held->status == 3);
  CHECK(options.connect_timeout == 500ms);
  CHECK(options.close_lock);
  CHECK(options.reason == "why");
  CHECK(options.report == "fd:3");
  CHECK(options.log.quiet);
  CHECK(options.log.verbose);
  CHECK(options.progress == When::kNever);
  CHECK(options.log.colour);
  CHECK(options.log.format == Log::Format::kJson);
}

TEST_CASE("bench: --count has a most") {
  CHECK(parsed({"bench", "stock", "--count", "50000"}).count == 50'000);
  CHECK(parse({"bench", "--count", "50001"}).error().message.ends_with("from 1 to 50000"));
}

TEST_CASE("two options that do not go together are told as they were typed, with a way out") {
  struct Row {
    Words line;
    const char* message;
    const char* next;
  };
  for (const Row& row :
       {Row{run({"-n", "--timeout", "5"}), "-n and --timeout exclude each other", "leave one out"},
        Row{run({"--replace", "--newest"}), "--replace and --newest exclude each other",
            "--newest lets the running one finish"},
        Row{run({"--replace", "--tries", "3"}), "--replace and --tries exclude each other", "--wait"},
        Row{run({"--slots", "a,b", "-x"}), "--slots and -x exclude each other", "--permits 1"},
        Row{{"acquire", "--json", "--shell", "-t", "9", "k"}, "--shell and --json exclude each other", "choose one"},
        Row{{"history", "--svg", "-f"}, "--svg and -f exclude each other", "choose one"},
        Row{{"revoke", "k", "--force", "-w", "3", "--slot", "1"},
            "--force and --slot exclude each other",
            "all holders"},
        Row{{"revoke", "k", "--force"}, "--force means nothing without --wait", "--wait D"},
        Row{run({"--remember", "1d"}), "--remember means nothing without --once", "--once SLOT"},
        Row{{"stock", "show", "--interval", "1"}, "--interval means nothing without --watch", "add --watch"},
        Row{{"stock", "take", "--interval", "x"},
            "'dlock stock take' has no option --interval",
            "dlock help stock take"}}) {
    const auto options = parse(row.line);
    REQUIRE(!options);
    CHECK(options.error().code == ErrorCode::kInvalid);
    CHECK(options.error().message == row.message);
    CHECK(options.error().next.find(row.next) != std::string::npos);
  }
  CHECK(parse({"revoke", "k", "--force", "-n"}));
  CHECK(parse(run({"--replace"}), {"DLOCK_WAIT=9"}));
}

TEST_CASE("what would have no effect is refused, and --version heeds --json") {
  const auto show = parse({"config", "show", "--strict"});
  REQUIRE(!show);
  CHECK(show.error().message.starts_with("--strict means nothing with 'dlock config show'"));
  CHECK(parse({"config", "check", "--strict"}));
  const auto fence = parse({"fence", "--json", "r", "1", "--", "true"});
  REQUIRE(!fence);
  CHECK(fence.error().message.starts_with("--json means nothing with a CMD"));
  CHECK(parse({"fence", "--json", "r", "1"}));
  CHECK(parsed({"--version", "--json"}).json);
  CHECK(parsed({"--version"}).json == false);
}

TEST_CASE("keys are sorted and each is taken once") {
  const Options options = parsed({"run", "b", "a", "b", "--", "x"});
  REQUIRE(options.keys.size() == 2);
  CHECK(options.keys[0].text() == "a");
  CHECK(options.keys[1].text() == "b");
}

TEST_CASE("waiting for nothing is trying once") {
  CHECK(parsed(run({"-w", "0"})).nonblock);
  CHECK(!parsed(run({"-w", "0"})).wait);
  CHECK(!parsed(run({"-w", "0.1"})).nonblock);
  CHECK(parsed(run({"-n"}), {"DLOCK_WAIT=30"}).nonblock);
  CHECK(!parsed(run({"-n"}), {"DLOCK_WAIT=30"}).wait);
}

TEST_CASE(
    "how long a lock may be held is for those who run something under it, and others are not kept from their work") {
  const Home home("[defaults]\nmax-hold = \"10s\"\nwarn-held = 7200\nat-least = \"20s\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  CHECK(parse(run({}), {xdg}).error().code == ErrorCode::kMisconfigured);
  CHECK(parsed(run({"--at-least", "5s"}), {xdg}).max_hold == 10s);
  CHECK(!parsed({"acquire", "k", "--ttl", "10s"}, {xdg}).max_hold);
  const Options selling = parsed({"stock", "run", "phone", "-c", "x"}, {xdg});
  CHECK(selling.max_hold == 10s);
  CHECK(selling.at_least == 0s);
  const Options waiting = parsed({"wait", "k"}, {xdg});
  CHECK(waiting.warn_held->after == 2h);
  CHECK(!waiting.warn_held->status);
  CHECK(parsed({"hold", "k"}, {"DLOCK_MAX_HOLD=1m", "DLOCK_WARN_HELD=1h=0"}).warn_held->status == 0);
}

TEST_CASE("the later of -s and -x wins, as with flock(1)") {
  CHECK(parsed(run({"-s"})).mode == Mode::kShared);
  CHECK(parsed(run({"-x", "-s"})).mode == Mode::kShared);
  CHECK(parsed(run({"-s", "-x"})).mode == Mode::kExclusive);
  CHECK(parsed(run({"-sx"})).mode == Mode::kExclusive);
}

TEST_CASE("signals have names with and without SIG, and numbers") {
  for (const char* name : {"signal:USR1", "signal:SIGUSR1", "signal:usr1", "signal:10"}) {
    CAPTURE(name);
    CHECK(parsed(run({"--on-lost", name})).on_lost.signal == SIGUSR1);
  }
}

TEST_CASE("a short ttl gets a kill-after that fits") {
  const Options options = parsed(run({"-t", "1s"}));
  CHECK(options.kill_after == Duration(1s) / 6);
}

TEST_CASE("what cannot be is refused with the reason and the right status") {
  struct Row {
    Words line;
    ErrorCode code;
    const char* message;
  };
  const std::string owner(32, 'a');
  const Row rows[] = {
      {{}, ErrorCode::kInvalid, "no command given"},
      {{"run"}, ErrorCode::kInvalid, "no KEY"},
      {{"run", "k"}, ErrorCode::kInvalid, "no command to run"},
      {{"run", "k", "--"}, ErrorCode::kInvalid, "no command to run"},
      {{"run", "", "--", "x"}, ErrorCode::kInvalid, "key is empty"},
      {{"run", "a\nb", "--", "x"}, ErrorCode::kInvalid, "control character"},
      {{"config", "show", ""}, ErrorCode::kInvalid, "key is empty"},
      {{"run", std::string(256, 'k'), "--", "x"}, ErrorCode::kInvalid, "256 bytes"},
      {{"run", "-c", "x", "k", "cmd"}, ErrorCode::kInvalid, "both -c STR and a command"},
      {run({"-t", "0.9"}), ErrorCode::kInvalid, "1s or more"},
      {run({"-t", "0"}), ErrorCode::kInvalid, "1s or more"},
      {run({"-t", "-5"}), ErrorCode::kInvalid, "negative"},
      {run({"-t", ""}), ErrorCode::kInvalid, "empty"},
      {run({"-t", "99999999999999999999"}), ErrorCode::kInvalid, "100 years"},
      {run({"-w", "-1"}), ErrorCode::kInvalid, "-w: '-1' is not a duration: it is negative"},
      {run({"-w", "5x"}), ErrorCode::kInvalid, "unknown unit 'x'"},
      {run({"-t", "10", "-k", "5"}), ErrorCode::kInvalid, "leaves no room for 5s"},
      {run({"-t", "8", "--kill-after", "5"}), ErrorCode::kInvalid, "leaves no room for 5s"},
      {run({"--permits", "0"}), ErrorCode::kInvalid, "'0' is not a number from 1"},
      {run({"-m", std::string(257, 'x')}), ErrorCode::kInvalid, "-m: it has 257 bytes; at most 256 are allowed"},
      {run({"--permits", "-1"}), ErrorCode::kInvalid, "'-1' is not a number"},
      {run({"--permits", "x"}), ErrorCode::kInvalid, "'x' is not a number"},
      {run({"--permits", "2", "-s"}), ErrorCode::kInvalid, "exclude each other"},
      {run({"--slots", "a,b", "-s"}), ErrorCode::kInvalid, "--slots and -s exclude each other"},
      {run({"--slots", "a,b", "--permits", "3"}), ErrorCode::kInvalid, "--permits 3, but --slots has 2 names"},
      {run({"--slots", ""}), ErrorCode::kInvalid, "a slot has no name"},
      {run({"--slots", "a,,b"}), ErrorCode::kInvalid, "a slot has no name"},
      {run({"--slots", "a,b,a"}), ErrorCode::kInvalid, "'a' is named twice"},
      {run({"--permits", "2", "-x"}), ErrorCode::kInvalid, "exclude each other"},
      {run({"-E", "256"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"-E", "-1"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"-E", "+1"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"--tries", "0"}), ErrorCode::kInvalid, "from 1"},
      {run({"--retry-interval", "1s"}), ErrorCode::kInvalid, "nothing without --tries"},
      {run({"-n", "--tries", "3"}), ErrorCode::kInvalid, "-n tries once"},
      {run({"--once", "a", "--remember", "367d"}), ErrorCode::kInvalid, "'367d' is too long: at most 366d"},
      {run({"--connect-timeout", "0"}), ErrorCode::kInvalid, "too short"},
      {run({"--max-hold", "0"}), ErrorCode::kInvalid, "--max-hold: '0' is too short: 1ms or more"},
      {run({"--max-hold", "9", "--at-least", "10"}), ErrorCode::kInvalid, "for 9s at most, and for 10s at least"},
      {run({"--warn-held", "2x"}), ErrorCode::kInvalid, "unknown unit 'x'"},
      {run({"--warn-held", "2h="}), ErrorCode::kInvalid, "--warn-held: '' is not a number from 0 to 255"},
      {run({"--warn-held", "2h=256"}), ErrorCode::kInvalid, "'256' is not a number from 0 to 255"},
      {run({"--on-lost", "trem"}), ErrorCode::kInvalid, "--on-lost: 'trem'"},
      {run({"--on-lost", "signal:"}), ErrorCode::kInvalid, "not a signal"},
      {run({"--on-lost", "signal:0"}), ErrorCode::kInvalid, "not a signal"},
      {run({"--on-lost", "signal:65"}), ErrorCode::kInvalid, "not a signal"},
      {run({"--progress", "allways"}), ErrorCode::kInvalid, "is not one of auto|always|never"},
      {run({"--report", "fd:x"}), ErrorCode::kInvalid, "'fd:x' is not a descriptor"},
      {run({"--report", ""}), ErrorCode::kInvalid, "empty"},
      {run({"-b", "redis"}), ErrorCode::kInvalid, "'redis' is not a backend"},
      {run({"-b", ""}), ErrorCode::kInvalid, "URL is empty"},
      {run({"-b", "redis://h?layuot=x"}), ErrorCode::kMisconfigured, "no parameter 'layuot'"},
      {run({"--fallback", "redis://h"}), ErrorCode::kUnsupported, "--fallback means nothing for the local backend"},
      {run({"--if-unavailable=run"}), ErrorCode::kUnsupported, "--if-unavailable=run means nothing"},
      {run({"--if-unavailable", "rum"}), ErrorCode::kInvalid, "is not one of fail|run"},
      {run({"-C", "/nowhere/x.toml"}), ErrorCode::kMisconfigured, "/nowhere/x.toml: No such file"},
      {{"hold"}, ErrorCode::kInvalid, "needs a KEY"},
      {{"hold", "a", "b"}, ErrorCode::kInvalid, "runs nothing: one KEY"},
      {{"acquire", "k"}, ErrorCode::kInvalid, "--ttl is missing"},
      {{"acquire", "k", "--watch-pid", "0"}, ErrorCode::kInvalid, "from 1"},
      {{"renew", "k"}, ErrorCode::kInvalid, "--owner is missing"},
      {{"release", "k"}, ErrorCode::kInvalid, "--owner is missing"},
      {{"release", "k", "--owner", "x"}, ErrorCode::kInvalid, "not an owner handle"},
      {{"check", "k"}, ErrorCode::kInvalid, "TOKEN is missing"},
      {{"check", "k", "0"}, ErrorCode::kInvalid, "not a fencing token"},
      {{"fence", "r"}, ErrorCode::kInvalid, "TOKEN is missing"},
      {{"fence", "r", "x", "--", "y"}, ErrorCode::kInvalid, "not a fencing token"},
      {{"force-release", "k", "--token", "x"}, ErrorCode::kInvalid, "not a fencing token"},
      {{"inspect", "--interval", "1s"}, ErrorCode::kInvalid, "nothing without --watch"},
      {{"gc", "k"}, ErrorCode::kInvalid, "takes no 'k'"},
      {{"config"}, ErrorCode::kInvalid, "needs show or check"},
      {{"config", "shw"}, ErrorCode::kInvalid, "has no 'shw'"},
      {{"completion", "csh"}, ErrorCode::kInvalid, "has no 'csh'"},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& word : row.line) line += "[" + word.substr(0, 40) + "] ";
    CAPTURE(line);
    const auto options = parse(row.line);
    REQUIRE(!options);
    CAPTURE(options.error().message);
    CHECK(options.error().code == row.code);
    CHECK(options.error().message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("the other commands get what they need") {
  const std::string owner(32, 'a');
  CHECK(parsed({"acquire", "k", "--ttl", "10m"}).ttl == 10min);
  CHECK(parsed({"acquire", "k"}, {"DLOCK_TTL=10m"}).ttl_given);
  CHECK(parsed({"acquire", "k", "--watch-pid", "7"}).watch_pid == 7);
  CHECK(parsed({"renew", "k", "--owner", owner, "--ttl", "1h", "--json"}).owner->text() == owner);
  CHECK(parsed({"release", "k", "--owner", owner, "--if-held"}).if_held);
  CHECK(parsed({"check", "k", "41"}).token->value() == 41);
  const Options fence = parsed({"fence", "disk", "41", "--", "mkfs", "-x"});
  CHECK(fence.keys[0].text() == "disk");
  CHECK(fence.token->value() == 41);
  CHECK(fence.child.size() == 3);
  CHECK(parsed({"force-release", "k", "--yes", "--token", "3"}).yes);
  CHECK(parsed({"inspect"}).keys.empty());
  CHECK(parsed({"inspect", "a", "b", "--watch", "--interval", "2"}).interval == Duration(2s));
  CHECK(parsed({"gc", "--dry-run"}).dry_run);
  CHECK(parsed({"setup", "--print"}).print);
  CHECK(parsed({"bench", "--count", "9"}).count == 9);
  CHECK(parsed({"config", "show"}).words == Words{"show"});
  CHECK(parsed({"stock", "show", "x"}).stock->action == StockAction::kShow);
}

}  // namespace options_test
