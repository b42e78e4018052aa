// SPDX-License-Identifier: Apache-2.0
// Where settings come from: flags, variables, files and their sections; and what of them is secret.
#include "cmd/options/options.h"

#include <doctest/doctest.h>

#include "tests/unit/cmd/options/options_world.h"

namespace options_test {

using namespace std::chrono_literals;

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
  CHECK(differ.error().message.starts_with("keys that are taken together need the same ttl: it is 50s for b ("));
  CHECK(!parse({"run", "a", "d", "--", "true"}, {xdg}));
  CHECK(parsed({"run", "-t", "9s", "a", "d", "--", "true"}, {xdg}).ttl == 9s);
  CHECK(parsed({"inspect", "a", "b"}, {xdg}).keys.size() == 2);
}

TEST_CASE("a file's value acts only in commands that have the option, and could override it") {
  const Home home(
      "[defaults]\ntries = 1\nretry-interval = \"9s\"\nat-least = \"3s\"\nmax-hold = \"2s\"\nfair = true\n"
      "on-lost = \"kill\"\nttl = \"40s\"\nlock-delay = \"5s\"\nreport = \"/r\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  CHECK(parsed({"acquire", "k"}, {xdg}).tries == 1);
  for (const Words& line : {Words{"wait", "-w", "3", "k"}, {"fence", "-w", "3", "r", "1"}, {"stock", "take", "s"}}) {
    CAPTURE(line.front());
    const Options options = parsed(line, {xdg});
    CHECK(options.tries == 0);
    CHECK(options.retry_interval == Duration(0));
    CHECK(options.at_least == Duration(0));
    CHECK_FALSE(options.fair);
    CHECK(options.lock_delay == Duration(0));
  }
  const Options hold = parsed({"hold", "k"}, {xdg});
  CHECK(hold.at_least == Duration(0));
  CHECK(hold.max_hold == Duration(2s));
  CHECK(hold.on_lost.kind == OnLost::Kind::kTerm);
  CHECK_FALSE(hold.report);
  CHECK(hold.ttl == 40s);
  CHECK(parsed({"wait", "k"}, {xdg}).ttl == 30s);
  CHECK(parsed({"doctor"}, {xdg}).ttl == 40s);
  CHECK(!parse({"run", "k", "--", "true"}, {xdg}));
}

TEST_CASE("a value that does not fit is a mistake in commands without the option as well") {
  const Home home("[defaults]\ntries = 0\n");
  const auto options = parse({"wait", "k"}, {"XDG_CONFIG_HOME=" + home.path});
  REQUIRE(!options);
  CHECK(options.error().code == ErrorCode::kMisconfigured);
}

TEST_CASE("--tries beats a wait of 0 that nobody typed") {
  const Home home("[defaults]\nwait = 0\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  for (const auto& entry : {xdg, std::string("DLOCK_WAIT=0")}) {
    const Options options = parsed(run({"--tries", "3"}), {entry});
    CHECK(options.tries == 3);
    CHECK_FALSE(options.nonblock);
    CHECK(parsed(run({}), {entry}).nonblock);
  }
  const auto both = parse(run({"--tries", "3", "-w", "0"}));
  REQUIRE(!both);
  CHECK(both.error().message == "-w 0 tries once, --tries asks for 3 attempts");
}

TEST_CASE("what a file says of ending hinders no command that ends none") {
  const Home home("[defaults]\nkill-after = \"5s\"\n");
  const std::string xdg = "XDG_CONFIG_HOME=" + home.path;
  CHECK(parsed({"acquire", "-t", "6s", "k"}, {xdg}).kill_after == 1s);
  CHECK(!parse(run({"-t", "6s"}), {xdg}));
}

TEST_CASE("an empty variable counts as unset, but DLOCK_BACKEND is a mistake unless a flag says where") {
  const auto lost = parse(run({}), {"DLOCK_BACKEND="});
  REQUIRE(!lost);
  CHECK(lost.error().code == ErrorCode::kMisconfigured);
  CHECK(parsed(run({"-b", "local:"}), {"DLOCK_BACKEND="}).backends[0].scheme == "local");
  CHECK(parsed(run({}), {"DLOCK_TTL=", "DLOCK_CONFIG="}).ttl == 30s);
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
  CHECK(parsed(run({"-b", "b"}), {xdg, "CREDENTIALS_DIRECTORY=" + home.path}).warnings.empty());
}

TEST_CASE(
    "a password file that others can read is a warning, unless systemd guards it; one that they can write is refused") {
  Home home("");
  const std::string file = home.put("/pw", "from-file\n", 0644);
  const std::vector<std::string> words = run({"-b", "redis://h?password-file=" + file});
  const Options loose = parsed(words);
  CHECK(loose.backends[0].password == "from-file");
  REQUIRE(loose.warnings.size() == 1);
  CHECK(loose.warnings[0].find("can be read by others") != std::string::npos);
  CHECK(parsed(words, {"CREDENTIALS_DIRECTORY=" + home.path}).warnings.empty());
  chmod(file.c_str(), 0666);
  const auto open = parse(words);
  REQUIRE(!open);
  CHECK(open.error().code == ErrorCode::kMisconfigured);
  CHECK(open.error().next == "chmod 600 " + file);
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
