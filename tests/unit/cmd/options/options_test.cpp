// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/options.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "lib/base/log.h"
#include "tests/unit/cmd/argument_words.h"

namespace options_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

/// A home folder with, perhaps, a configuration in it.
class Home {
 public:
  Home() {
    char name[] = "/tmp/dlock-home-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  explicit Home(const std::string& configuration) : Home() {
    mkdir((path + "/dlock").c_str(), 0700);
    put("/dlock/config.toml", configuration, 0600);
  }
  ~Home() {
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) unlink(file->c_str());
    rmdir((path + "/dlock").c_str());
    rmdir(path.c_str());
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode) {
    const std::string file = path + name;
    FILE* out = fopen(file.c_str(), "w");
    REQUIRE(out != nullptr);
    REQUIRE(fputs(text.c_str(), out) >= 0);
    fclose(out);
    chmod(file.c_str(), mode);
    files_.push_back(file);
    return file;
  }
  std::string path;

 private:
  std::vector<std::string> files_;
};

/// Parses in an environment of nothing but `entries`.
Result<Options> parse(const Words& line, std::initializer_list<std::string> entries = {}) {
  ArgumentWords words(line);
  Variables variables(entries);
  return parse_command_line(words.count(), words.argv(), variables.environment());
}

Options parsed(const Words& line, std::initializer_list<std::string> entries = {}) {
  auto options = parse(line, entries);
  if (!options) FAIL(options.error().message);
  return std::move(*options);
}

Words run(Words options) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"k", "--", "true"});
  return options;
}

}  // namespace

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
  CHECK(options.renew_interval == 10s);
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
                                      "--renew-interval",
                                      "5s",
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
                                      "--strict-release",
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
  CHECK(options.renew_interval == 5s);
  CHECK(options.kill_after == 2s);
  CHECK(options.on_lost.kind == OnLost::Kind::kSignal);
  CHECK(options.on_lost.signal == SIGUSR1);
  CHECK(options.lock_delay == 3s);
  CHECK(options.at_least == 1h);
  CHECK(options.max_hold == 2h);
  CHECK(options.warn_held->after == 90min);
  CHECK(options.warn_held->status == 3);
  CHECK(options.connect_timeout == 500ms);
  CHECK(options.strict_release);
  CHECK(options.close_lock);
  CHECK(options.reason == "why");
  CHECK(options.report == "fd:3");
  CHECK(options.log.quiet);
  CHECK(options.log.verbosity == 2);
  CHECK(options.progress == When::kNever);
  CHECK(options.log.colour);
  CHECK(options.log.format == Log::Format::kJson);
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

TEST_CASE("a short ttl gets a kill-after and a renewal that fit") {
  const Options options = parsed(run({"-t", "1s"}));
  CHECK(options.kill_after == Duration(1s) / 6);
  CHECK(options.renew_interval == Duration(1s) / 3);
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
      {{"run", std::string(256, 'k'), "--", "x"}, ErrorCode::kInvalid, "256 bytes"},
      {{"run", "-c", "x", "k", "cmd"}, ErrorCode::kInvalid, "both -c STR and a command"},
      {run({"-t", "0.9"}), ErrorCode::kInvalid, "1s is the least"},
      {run({"-t", "0"}), ErrorCode::kInvalid, "1s is the least"},
      {run({"-t", "-5"}), ErrorCode::kInvalid, "negative"},
      {run({"-t", ""}), ErrorCode::kInvalid, "empty"},
      {run({"-t", "99999999999999999999"}), ErrorCode::kInvalid, "100 years"},
      {run({"-w", "-1"}), ErrorCode::kInvalid, "-w: '-1' is not a duration: it is negative"},
      {run({"-w", "5x"}), ErrorCode::kInvalid, "unknown unit 'x'"},
      {run({"-t", "10", "-k", "5"}), ErrorCode::kInvalid, "leaves no room for 5s"},
      {run({"-t", "8", "--kill-after", "5"}), ErrorCode::kInvalid, "leaves no room for 5s"},
      {run({"-t", "30", "--renew-interval", "24s"}), ErrorCode::kInvalid, "too seldom"},
      {run({"--renew-interval", "0"}), ErrorCode::kInvalid, "1ms is the least"},
      {run({"--permits", "0"}), ErrorCode::kInvalid, "'0' is not a number from 1"},
      {run({"-m", std::string(257, 'x')}), ErrorCode::kInvalid, "-m: it has 257 bytes, and may have 256"},
      {run({"--permits", "-1"}), ErrorCode::kInvalid, "'-1' is not a number"},
      {run({"--permits", "x"}), ErrorCode::kInvalid, "'x' is not a number"},
      {run({"--permits", "2", "-s"}), ErrorCode::kInvalid, "exclude each other"},
      {run({"--slots", "a,b", "-s"}), ErrorCode::kInvalid, "--slots and -s exclude each other"},
      {run({"--slots", "a,b", "--permits", "3"}), ErrorCode::kInvalid, "--permits 3, but --slots has 2 names"},
      {run({"--slots", ""}), ErrorCode::kInvalid, "a slot has no name"},
      {run({"--slots", "a,,b"}), ErrorCode::kInvalid, "a slot has no name"},
      {run({"--slots", "a,b,a"}), ErrorCode::kInvalid, "'a' is named twice"},
      {run({"--limit", "2", "-x"}), ErrorCode::kInvalid, "exclude each other"},
      {run({"-E", "256"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"-E", "-1"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"-E", "+1"}), ErrorCode::kInvalid, "from 0 to 255"},
      {run({"--tries", "0"}), ErrorCode::kInvalid, "from 1"},
      {run({"--retry-interval", "1s"}), ErrorCode::kInvalid, "nothing without --tries"},
      {run({"-n", "--tries", "3"}), ErrorCode::kInvalid, "-n tries once"},
      {run({"-n", "-w", "5"}), ErrorCode::kInvalid, "only one of them"},
      {run({"--connect-timeout", "0"}), ErrorCode::kInvalid, "too short"},
      {run({"--max-hold", "0"}), ErrorCode::kInvalid, "--max-hold: '0' is too short, 1ms is the least"},
      {run({"--max-hold", "9", "--at-least", "10"}), ErrorCode::kInvalid, "for 9s at most, and for 10s at least"},
      {run({"--warn-held", "2x"}), ErrorCode::kInvalid, "unknown unit 'x'"},
      {run({"--warn-held", "2h="}), ErrorCode::kInvalid, "--warn-held: '' is not a number from 0 to 255"},
      {run({"--warn-held", "2h=256"}), ErrorCode::kInvalid, "'256' is not a number from 0 to 255"},
      {run({"--on-lost", "trem"}), ErrorCode::kInvalid, "--on-lost: 'trem'"},
      {run({"--on-lost", "signal:"}), ErrorCode::kInvalid, "no signal"},
      {run({"--on-lost", "signal:0"}), ErrorCode::kInvalid, "no signal"},
      {run({"--on-lost", "signal:65"}), ErrorCode::kInvalid, "no signal"},
      {run({"--progress", "allways"}), ErrorCode::kInvalid, "none of auto|always|never"},
      {run({"--report", "fd:x"}), ErrorCode::kInvalid, "'fd:x' is no descriptor"},
      {run({"--report", ""}), ErrorCode::kInvalid, "empty"},
      {run({"-b", "redis"}), ErrorCode::kInvalid, "'redis' is no backend"},
      {run({"-b", ""}), ErrorCode::kInvalid, "URL is empty"},
      {run({"-b", "redis://h?layuot=x"}), ErrorCode::kMisconfigured, "no parameter 'layuot'"},
      {run({"--fallback", "redis://h"}), ErrorCode::kUnsupported, "--fallback means nothing for the local backend"},
      {run({"--if-unavailable=run"}), ErrorCode::kUnsupported, "--if-unavailable=run means nothing"},
      {run({"--if-unavailable", "rum"}), ErrorCode::kInvalid, "none of fail|run"},
      {run({"-C", "/nowhere/x.toml"}), ErrorCode::kMisconfigured, "/nowhere/x.toml: No such file"},
      {{"hold"}, ErrorCode::kInvalid, "needs a KEY"},
      {{"hold", "a", "b"}, ErrorCode::kInvalid, "takes one KEY"},
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
      {{"config"}, ErrorCode::kInvalid, "needs a show|check"},
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
  CHECK(parsed({"status", "a", "b", "--watch", "--interval", "2"}).interval == Duration(2s));
  CHECK(parsed({"gc", "--dry-run"}).dry_run);
  CHECK(parsed({"setup", "--print"}).print);
  CHECK(parsed({"bench", "--count", "9"}).count == 9);
  CHECK(parsed({"config", "show"}).words == Words{"show"});
  CHECK(parsed({"stock", "show", "x"}).stock->action == StockAction::kShow);
}

TEST_CASE("flag beats variable beats file, key by key, and each knows its origin") {
  const Home home("[defaults]\nttl = \"40s\"\nwait = \"3s\"\nreason = \"file\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  const Options options = parsed(run({"-m", "flag"}), {xdg, "DLOCK_REASON=variable", "DLOCK_WAIT=2s"});
  CHECK(options.reason == "flag");
  CHECK(options.wait == Duration(2s));
  CHECK(options.ttl == 40s);
  CHECK(options.config.find("defaults", "reason")->origin.text() == "-m");
  CHECK(options.config.find("defaults", "wait")->origin.text() == "$DLOCK_WAIT");
  CHECK(options.config.find("defaults", "ttl")->origin.text() == home.path + "/dlock/config.toml:2");
}

TEST_CASE("--config is stronger than the user's file, which still counts") {
  Home home("[defaults]\nttl = \"40s\"\nwait = \"3s\"\n");
  const std::string file = home.put("/mine.toml", "[defaults]\nttl = \"50s\"\n", 0600);
  for (const bool by_flag : {true, false}) {
    const Options options = by_flag ? parsed(run({"-C", file}), {"XDG_CONFIG_HOME=" + home.path})
                                    : parsed(run({}), {"XDG_CONFIG_HOME=" + home.path, "DLOCK_CONFIG=" + file});
    CHECK(options.ttl == 50s);
    CHECK(options.wait == Duration(3s));
  }
}

TEST_CASE("a wrong value says where it stands, and a file makes it 78") {
  const Home home("[defaults]\nttl = \"40q\"\n");
  const auto options = parse(run({}), {"XDG_CONFIG_HOME=" + home.path});
  REQUIRE(!options);
  CHECK(options.error().code == ErrorCode::kMisconfigured);
  CHECK(options.error().message.starts_with(home.path + "/dlock/config.toml:2:1: ttl: '40q' is not a duration"));
  const auto variable = parse(run({}), {"DLOCK_TTL=40q"});
  REQUIRE(!variable);
  CHECK(variable.error().code == ErrorCode::kInvalid);
  CHECK(variable.error().message.starts_with("$DLOCK_TTL: '40q'"));
}

TEST_CASE("what a section says of a key holds for it, below flag and variable, above backend and defaults") {
  const Home home(
      "[defaults]\nttl = \"20s\"\nwait = \"1m\"\nreason = \"general\"\n"
      "[backend.r]\nurl = \"redis://h\"\nttl = \"25s\"\n"
      "[key.\"deploy/*\"]\nttl = \"40s\"\nbackend = \"r\"\nreason = \"run ${RUN:-0}\"\npermits = 3\nfair = true\n"
      "max-hold = \"1h\"\nwarn-held = \"10m=4\"\n[key.\"deploy/prod\"]\npermits = 1\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  const Options test = parsed({"run", "deploy/test", "--", "true"}, {xdg, "RUN=17"});
  CHECK(test.ttl == 40s);
  CHECK(test.wait == Duration(1min));
  CHECK(test.backends.front().alias == "r");
  CHECK(test.reason == "run 17");
  CHECK(test.permits == 3);
  CHECK(test.mode == Mode::kPermits);
  CHECK(test.fair);
  CHECK(test.max_hold == 1h);
  CHECK(test.warn_held->status == 4);
  CHECK(parsed({"run", "deploy/prod", "--", "true"}, {xdg}).permits == 1);
  CHECK(parsed({"run", "deploy/prod", "--", "true"}, {xdg}).ttl == 40s);
  CHECK(parsed({"run", "-b", "local:", "-t", "9s", "deploy/test", "--", "true"}, {xdg, "DLOCK_REASON=x"}).reason ==
        "x");
  CHECK(parsed({"run", "-b", "local:", "-t", "9s", "deploy/test", "--", "true"}, {xdg}).ttl == 9s);
  CHECK(parsed({"run", "-s", "deploy/test", "--", "true"}, {xdg}).mode == Mode::kShared);
  CHECK(parsed({"inspect", "deploy/test"}, {xdg}).backends.front().alias == "r");
  CHECK(parsed({"acquire", "deploy/test"}, {xdg}).ttl == 40s);
  CHECK(parsed({"fence", "deploy/test", "1"}, {xdg}).backends.front().scheme == "local");
  const Options other = parsed({"run", "other", "--", "true"}, {xdg});
  CHECK(other.ttl == 20s);
  CHECK(other.permits == 0);
  CHECK(other.backends.front().scheme == "local");
}

TEST_CASE("keys that are taken together agree on what their sections say, or a flag decides") {
  const Home home("[key.a]\nttl = \"40s\"\n[key.b]\nttl = \"50s\"\n[key.c]\nttl = \"40s\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  CHECK(parsed({"run", "a", "c", "--", "true"}, {xdg}).ttl == 40s);
  const auto differ = parse({"run", "b", "a", "--", "true"}, {xdg});
  REQUIRE(!differ);
  CHECK(differ.error().code == ErrorCode::kMisconfigured);
  CHECK(differ.error().message.starts_with("keys that are taken together have one ttl: it is 50s for b ("));
  CHECK(!parse({"run", "a", "d", "--", "true"}, {xdg}));
  CHECK(parsed({"run", "-t", "9s", "a", "d", "--", "true"}, {xdg}).ttl == 9s);
  CHECK(parsed({"inspect", "a", "b"}, {xdg}).keys.size() == 2);
}

TEST_CASE("an empty variable counts as unset") {
  CHECK(parsed(run({}), {"DLOCK_TTL=", "DLOCK_BACKEND=", "DLOCK_CONFIG="}).ttl == 30s);
}

TEST_CASE("a typo in a variable is a warning, and what dlock sets itself is not") {
  const Options options =
      parsed(run({}), {"DLOCK_TLL=5s", "DLOCK_KILL_AFTER=2s", "DLOCK_KEY=k", "DLOCK_TOKEN=1", "DLOCK_OWNER=x",
                       "DLOCK_STORE=local:", "DLOCK_HELD=x", "DLOCK_PASSWORD=x", "DLOCK_SOMETHING_ELSE=1"});
  REQUIRE(options.warnings.size() == 2);
  CHECK(options.warnings[0] == "$DLOCK_TLL is not read; did you mean $DLOCK_TTL?");
  CHECK(options.warnings[1].find("use --kill-after") != std::string::npos);
}

TEST_CASE("a backend is chosen by its name, with its own settings") {
  const Home home(
      "default-backend = \"main\"\n"
      "[defaults]\nttl = \"40s\"\n"
      "[backend.main]\nurl = \"redis://app@h\"\nwait_replicas = 2\nttl = \"1m\"\nfallback = [\"spare\"]\n"
      "if-unavailable = \"run\"\n"
      "[backend.spare]\nurl = \"redis://spare\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  const Options options = parsed(run({}), {xdg});
  REQUIRE(options.backends.size() == 2);
  CHECK(options.backends[0].redacted() == "redis://app@h?wait_replicas=2");
  CHECK(options.backends[0].alias == "main");
  CHECK(options.backends[1].alias == "spare");
  CHECK(options.run_if_unavailable);
  CHECK(options.ttl == 1min);
  CHECK(parsed(run({"-t", "9s"}), {xdg}).ttl == 9s);
  CHECK(parsed(run({"-b", "spare"}), {xdg}).ttl == 40s);
  const Options local = parsed(run({"-b", "local:"}), {xdg, "DLOCK_FALLBACK=redis://x"});
  CHECK(local.backends.size() == 1);
  CHECK(!local.run_if_unavailable);
  const auto typo = parse(run({"-b", "mian"}), {xdg});
  REQUIRE(!typo);
  CHECK(typo.error().next == "did you mean 'main'?");
}

TEST_CASE("a section that does not fit its URL is named with its place") {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"[backend.b]\nurl = \"redis://h\"\nrecipe = \"mutex\"\n",
       "config.toml:3:1: a redis URL has no parameter 'recipe'"},
      {"[backend.b]\nurl = \"redis://h,i\"\n", "config.toml:2:1: a redis URL names one host"},
      {"[backend.b]\nttl = 5\n", "config.toml:2:1: [backend.b] has no url"},
      {"[backend.b]\nurl = \"redis://h\"\nkind = \"fair\"\n", "means nothing without layout=redisson"},
  };
  for (const Row& row : rows) {
    const Home home(row.text);
    const auto options = parse(run({"-b", "b"}), {"XDG_CONFIG_HOME=" + home.path});
    REQUIRE(!options);
    CAPTURE(options.error().message);
    CHECK(options.error().code == ErrorCode::kMisconfigured);
    CHECK(options.error().message.find(row.message) != std::string::npos);
  }
}

TEST_CASE("variables and several flags make a list of fallbacks") {
  CHECK(parsed(run({"-b", "redis://a", "--fallback", "redis://b", "--fallback", "local:"})).backends.size() == 3);
  CHECK(parsed(run({"-b", "redis://a"}), {"DLOCK_FALLBACK=redis+cluster://b,c local:"}).backends.size() == 3);
  CHECK(parsed(run({"-b", "redis://a", "--fallback", "local:"}), {"DLOCK_FALLBACK=redis://b redis://c"})
            .backends.size() == 2);
}

TEST_CASE("passwords come from files, credentials, the variable, or the URL") {
  Home home("[backend.b]\nurl = \"redis://app@h\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  const std::string file = home.put("/pw", "from-file\n", 0600);
  CHECK(parsed(run({"-b", "redis://h?password-file=" + file})).backends[0].password == "from-file");
  CHECK(parsed(run({"-b", "redis://app@h"}), {"DLOCK_PASSWORD=from-variable"}).backends[0].password == "from-variable");
  CHECK(parsed(run({"-b", "redis://:typed@h"}), {"DLOCK_PASSWORD=from-variable"}).backends[0].password == "typed");
  CHECK(parsed(run({"-b", "redis://h", "--fallback", "redis://i"}), {"DLOCK_PASSWORD=x"}).backends[1].password.empty());
  CHECK(parsed(run({}), {"DLOCK_PASSWORD=x"}).backends[0].password.empty());
  home.put("/dlock.b.password", "from-systemd\n", 0440);
  CHECK(
      parsed(run({"-b", "b"}), {xdg, "CREDENTIALS_DIRECTORY=" + home.path, "DLOCK_PASSWORD=x"}).backends[0].password ==
      "from-systemd");
  CHECK(parsed(run({"-b", "b"}), {xdg, "DLOCK_PASSWORD=x"}).backends[0].password == "x");
  chmod(file.c_str(), 0644);
  const auto loose = parse(run({"-b", "redis://h?password-file=" + file}));
  REQUIRE(!loose);
  CHECK(loose.error().code == ErrorCode::kMisconfigured);
  CHECK(loose.error().next == "chmod 600 " + file);
}

TEST_CASE("a password on the command line works, with a warning that does not repeat it") {
  const Options options = parsed(run({"-b", "redis://u:s3cret@h"}));
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].find("ps") != std::string::npos);
  CHECK(options.warnings[0].find("s3cret") == std::string::npos);
  CHECK(parsed(run({}), {"DLOCK_BACKEND=redis://u:s3cret@h"}).warnings.empty());
}

TEST_CASE("help, version and completion work whatever the configuration says") {
  const Home home("this is no TOML");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  CHECK(parse({"help", "run"}, {xdg}));
  CHECK(parse({"run", "--help"}, {xdg, "DLOCK_BACKEND=nonsense"}));
  CHECK(parse({"--version"}, {xdg}));
  CHECK(parse({"completion", "bash"}, {xdg}));
  CHECK(!parse({"config", "show"}, {xdg}));
  CHECK(parsed({"config", "check"}, {xdg}).mistakes.size() == 1);
  CHECK(!parse({"run", "k", "x"}, {xdg}));
}

TEST_CASE("colour follows --color, then the environment") {
  CHECK(parsed(run({"--color=always"}), {"NO_COLOR=1"}).log.colour);
  CHECK(!parsed(run({"--color=never"}), {"CLICOLOR_FORCE=1"}).log.colour);
  CHECK(parsed(run({}), {"CLICOLOR_FORCE=1"}).log.colour);
  CHECK(!parsed(run({}), {"NO_COLOR=1"}).log.colour);
  CHECK(parsed(run({}), {"NO_COLOR=1"}).colour == When::kNever);
  CHECK(parsed(run({}), {"TERM=dumb"}).colour == When::kNever);
  CHECK(parsed(run({}), {"NO_COLOR="}).colour == When::kAuto);
}

}  // namespace options_test
