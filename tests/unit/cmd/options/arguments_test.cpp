// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/arguments.h"

#include <doctest/doctest.h>

#include "tests/unit/cmd/argument_words.h"

namespace arguments_test {

using namespace dlock;

namespace {

using Words = std::vector<std::string>;

Words texts(const std::vector<std::string_view>& words) { return {words.begin(), words.end()}; }
Words texts(const std::vector<char*>& words) { return {words.begin(), words.end()}; }

}  // namespace

TEST_CASE("keys and command are told apart the way people write them") {
  struct Row {
    Words line;
    Words keys;
    Words child;
    const char* shell;  ///< of -c, or null
  };
  const Row rows[] = {
      // what a user of flock, consul or etcdctl types first
      {{"run", "-n", "KEY", "CMD"}, {"KEY"}, {"CMD"}, nullptr},
      {{"run", "-w", "10", "KEY", "-c", "a && b"}, {"KEY"}, {}, "a && b"},
      {{"run", "KEY", "--", "CMD", "--opt"}, {"KEY"}, {"CMD", "--opt"}, nullptr},
      {{"run", "-n", "-E", "0", "nightly", "--", "job"}, {"nightly"}, {"job"}, nullptr},
      {{"run", "-s", "KEY", "cat", "f"}, {"KEY"}, {"cat", "f"}, nullptr},
      {{"run", "--ttl=10", "KEY", "CMD"}, {"KEY"}, {"CMD"}, nullptr},
      {{"run", "KEY", "CMD"}, {"KEY"}, {"CMD"}, nullptr},
      {{"run", "A", "--", "dlock", "run", "B", "--", "CMD"}, {"A"}, {"dlock", "run", "B", "--", "CMD"}, nullptr},
      {{"run", "A", "dlock", "run", "B", "CMD"}, {"A"}, {"dlock", "run", "B", "CMD"}, nullptr},
      // byte for byte
      {{"run", "k", "--", "[a,b]", "--x", "", "--", "-n"}, {"k"}, {"[a,b]", "--x", "", "--", "-n"}, nullptr},
      {{"run", "k", "cmd", "-n", "--ttl=5", "", "[a,b]"}, {"k"}, {"cmd", "-n", "--ttl=5", "", "[a,b]"}, nullptr},
      {{"run", "k", "--", "sh", "-c", "x"}, {"k"}, {"sh", "-c", "x"}, nullptr},
      {{"run", "k", "sh", "-c", "x"}, {"k"}, {"sh", "-c", "x"}, nullptr},
      {{"run", "k", "--", "-c", "x"}, {"k"}, {"-c", "x"}, nullptr},
      // several keys
      {{"run", "a", "b", "c", "--", "cmd"}, {"a", "b", "c"}, {"cmd"}, nullptr},
      // -c
      {{"run", "-c", "x; y", "k"}, {"k"}, {}, "x; y"},
      {{"run", "k", "-cx"}, {"k"}, {}, "x"},
      {{"run", "k", "--command", "x"}, {"k"}, {}, "x"},
      {{"run", "k", "--command=x"}, {"k"}, {}, "x"},
      {{"run", "k", "-c", ""}, {"k"}, {}, ""},
      {{"run", "-c", "x", "a", "b", "--"}, {"a", "b"}, {}, "x"},
      {{"run", "k", "-c", "x", "--"}, {"k"}, {}, "x"},
      // keys that begin with a dash
      {{"run", "--", "-key", "--", "cmd"}, {"-key"}, {"cmd"}, nullptr},
      {{"run", "--", "-a", "-b", "--", "cmd", "--", "x"}, {"-a", "-b"}, {"cmd", "--", "x"}, nullptr},
      {{"run", "--", "key", "cmd", "x"}, {"key"}, {"cmd", "x"}, nullptr},
      {{"run", "-n", "--", "-key", "cmd"}, {"-key"}, {"cmd"}, nullptr},
      {{"run", "-", "cmd"}, {"-"}, {"cmd"}, nullptr},
      // nothing to run, seen later by whoever needs a command
      {{"run", "k"}, {"k"}, {}, nullptr},
      {{"run", "k", "--"}, {"k"}, {}, nullptr},
      {{"run"}, {}, {}, nullptr},
      {{"run", "--"}, {}, {}, nullptr},
      {{"run", "--", "--"}, {}, {}, nullptr},
      // fence: two operands
      {{"fence", "r", "5", "--", "cmd", "x"}, {"r", "5"}, {"cmd", "x"}, nullptr},
      {{"fence", "-n", "r", "5", "cmd", "-x"}, {"r", "5"}, {"cmd", "-x"}, nullptr},
      {{"fence", "r", "5"}, {"r", "5"}, {}, nullptr},
      // the others: options anywhere, words behind "--" are operands
      {{"renew", "k", "--owner", "o", "--ttl=5"}, {"k"}, {}, nullptr},
      {{"inspect", "--json", "a", "-v", "b", "--", "-c"}, {"a", "b", "-c"}, {}, nullptr},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& word : row.line) line += "[" + word + "] ";
    CAPTURE(line);
    ArgumentWords words(row.line);
    const auto split = split_arguments(words.count(), words.argv());
    if (!split) FAIL(split.error().message);
    CHECK(texts((*split).words) == row.keys);
    CHECK(texts((*split).child) == row.child);
    const GivenOption* shell = (*split).find(OptionId::kCommandText);
    CHECK((shell != nullptr) == (row.shell != nullptr));
    if (shell != nullptr && row.shell != nullptr) CHECK(shell->value == row.shell);
  }
}

TEST_CASE("CMD points into argv itself") {
  ArgumentWords words{"run", "k", "--", "cmd", "x"};
  const auto split = split_arguments(words.count(), words.argv());
  REQUIRE(split);
  CHECK((*split).child[0] == words.argv()[4]);
  CHECK((*split).child[1] == words.argv()[5]);
}

TEST_CASE("an option's value may stand in its word or in the next") {
  for (const Words& line : {Words{"run", "-w5", "k", "x"}, Words{"run", "-w", "5", "k", "x"},
                            Words{"run", "--wait=5", "k", "x"}, Words{"run", "--wait", "5", "k", "x"},
                            Words{"run", "-nqw5", "k", "x"}, Words{"run", "-w9", "-w", "5", "k", "x"}}) {
    CAPTURE(line[1]);
    ArgumentWords words(line);
    const auto split = split_arguments(words.count(), words.argv());
    REQUIRE(split);
    const GivenOption* wait = (*split).find(OptionId::kWait);
    REQUIRE(wait != nullptr);
    CHECK(wait->value == "5");
    CHECK(texts((*split).words) == Words{"k"});
  }
}

TEST_CASE("short letters and names mean what they mean with flock(1)") {
  struct Row {
    const char* word;
    const char* name;
  };
  const Row rows[] = {
      {"-n", "nonblock"},           {"--nb", "nonblock"}, {"-s", "shared"},
      {"-x", "exclusive"},          {"-e", "exclusive"},  {"-o", "close"},
      {"--exclusive", "exclusive"}, {"--close", "close"}, {"--verbose", "verbose"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.word);
    ArgumentWords words{"run", row.word, "k", "x"};
    const auto split = split_arguments(words.count(), words.argv());
    REQUIRE(split);
    CHECK((*split).options.front().row->name == row.name);
  }
}

TEST_CASE("general options may stand before the command") {
  ArgumentWords words{"-b", "local:/x", "-C", "f", "-qv", "--color=never", "--log-format", "json", "run", "k", "x"};
  const auto split = split_arguments(words.count(), words.argv());
  REQUIRE(split);
  CHECK((*split).command == Command::kRun);
  CHECK((*split).options.size() == 6);
  CHECK((*split).find(OptionId::kBackend)->value == "local:/x");
}

TEST_CASE("help and version win over everything else") {
  struct Row {
    Words line;
    Command command;
    Words words;
  };
  const Row rows[] = {
      {{"--help"}, Command::kHelp, {}},
      {{"-h"}, Command::kHelp, {}},
      {{"--version"}, Command::kVersion, {}},
      {{"-V"}, Command::kVersion, {}},
      {{"run", "--help"}, Command::kHelp, {"run"}},
      {{"run", "-nh", "k", "x"}, Command::kHelp, {"run"}},
      {{"inspect", "k", "--help"}, Command::kHelp, {"inspect"}},
      {{"help", "run"}, Command::kHelp, {"run"}},
      {{"help"}, Command::kHelp, {}},
      {{"version"}, Command::kVersion, {}},
  };
  for (const Row& row : rows) {
    ArgumentWords words(row.line);
    const auto split = split_arguments(words.count(), words.argv());
    REQUIRE(split);
    CHECK((*split).command == row.command);
    CHECK(texts((*split).words) == row.words);
  }
}

TEST_CASE("behind the keys --help belongs to the command that is run") {
  ArgumentWords words{"run", "k", "--", "cmd", "--help"};
  const auto split = split_arguments(words.count(), words.argv());
  REQUIRE(split);
  CHECK((*split).command == Command::kRun);
}

TEST_CASE("what cannot be understood is refused with the nearest right word") {
  struct Row {
    Words line;
    const char* message;
    const char* next;
  };
  const Row rows[] = {
      {{}, "no command given", "-- CMD [ARG...]; all commands: dlock help"},
      {{"-q"}, "no command given", "usage"},
      {{"--"}, "no command given before --", "dlock run KEY"},
      {{"rnu", "k"}, "unknown command 'rnu'", "did you mean 'run'?"},
      {{"insepct"}, "unknown command", "did you mean 'inspect'?"},
      {{std::string(79, 'x') + "\u00fc"}, "xxx...'", "dlock help"},
      {{"deploy", "--", "x"}, "unknown command 'deploy'", "lock: dlock run deploy -- x; all"},
      {{"verify", "--duration", "1s"},
       "unknown command 'verify'",
       "it is a program of the tests, in the source of dlock"},
      {{"lock", "k", "x"}, "unknown command 'lock'", "dlock run KEY -- CMD"},
      {{"exec", "k", "x"}, "unknown command 'exec'", "dlock run KEY -- CMD"},
      {{"with", "k", "x"}, "unknown command 'with'", "dlock run KEY -- CMD"},
      {{"status", "k"}, "unknown command 'status'", "dlock inspect"},
      {{"list"}, "unknown command 'list'", "dlock inspect"},
      {{"break", "k"}, "unknown command 'break'", "dlock force-release KEY"},
      {{"deploy", "x"}, "unknown command 'deploy'", "dlock run KEY -- CMD"},
      {{"__compleet"}, "unknown command", "dlock help"},
      {{"run", "--tll", "5s", "k", "x"}, "unknown option '--tll'", "did you mean '--ttl'?"},
      {{"run", "--rem", "5s", "k", "x"}, "unknown option '--rem'", "did you mean '--remember'?"},
      {{"run", "--renew-interval", "5s", "k", "x"}, "unknown option '--renew-interval'", "--ttl D"},
      {{"run", "--nonblok", "k", "x"}, "unknown option", "did you mean '--nonblock'?"},
      {{"run", "-Z", "k", "x"}, "unknown option '-Z'", "dlock help run"},
      {{"run", "-nZ", "k", "x"}, "unknown option '-Z'", "dlock help run"},
      {{"run", "-\u00fc", "k", "x"}, "unknown option '-\u00fc'", "dlock help run"},
      {{"run", "-F", "k", "x"}, "-F (--no-fork) is not possible", "leave it out"},
      {{"run", "--no-fork", "k", "x"}, "-F (--no-fork) is not possible", "leave it out"},
      {{"run", "-u", "k", "x"}, "-u (--unlock) is not possible", "dlock release"},
      {{"run", "--unlock", "k"}, "-u (--unlock) is not possible", "dlock release"},
      {{"run", "--nonblock=1", "k", "x"}, "takes no value", "leave '=1' out"},
      {{"run", "--wait"}, "--wait needs a value", "--wait D"},
      {{"run", "-w"}, "-w needs a value", "-w D"},
      {{"run", "-w", "--", "x"}, "-w needs a value", "-w D"},
      {{"--ttl", "5", "run", "k", "x"}, "--ttl comes before the command", "write: dlock run --ttl 5 k x"},
      {{"force-release", "k", "--ttl", "5"},
       "'dlock force-release' has no option --ttl",
       "run, hold, acquire, renew and stock"},
      {{"run", "--yes", "k", "x"}, "'dlock run' has no option --yes", "force-release"},
      {{"fence", "r", "-1"}, "'-1' is not a fencing token", "dlock fence [OPTION...] RESOURCE TOKEN"},
      {{"fence", "r", "-1", "--", "x"}, "'-1' is not a fencing token", "dlock fence [OPTION...] RESOURCE TOKEN"},
      {{"run", "k", "-n", "x"}, "'-n' comes after a key", "before the key"},
      {{"run", "k", "-n", "--", "x"}, "'-n' comes after a key", "before the key"},
      {{"run", "k", "--ttl=5", "--", "x"}, "'--ttl=5' comes after a key", "before the key"},
      {{"run", "k", "sh", "-c", "x", "--", "y"}, "'-c' comes after a key", "put -- between"},
      {{"run", "k", "-c", "x", "y"}, "'y' comes after -c STR", "quote the whole"},
      {{"run", "k", "-c"}, "-c needs a value", "-c STR"},
      {{"run", "k", "-c", "--", "x"}, "-c needs a value", "-c STR"},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& word : row.line) line += "[" + word + "] ";
    CAPTURE(line);
    ArgumentWords words(row.line);
    const auto split = split_arguments(words.count(), words.argv());
    REQUIRE(!split);
    CAPTURE(split.error().message);
    CAPTURE(split.error().next);
    CHECK(split.error().code == ErrorCode::kInvalid);
    CHECK(split.error().message.find(row.message) != std::string::npos);
    CHECK(split.error().next.find(row.next) != std::string::npos);
  }
}

TEST_CASE("the words of other lock tools are answered with dlock's own") {
  struct Row {
    Words line;
    const char* next;
  };
  const Row rows[] = {
      {{"unlock", "k"}, "dlock release KEY --owner OWNER"},
      {{"rm", "k"}, "dlock force-release KEY"},
      {{"kill", "k"}, "dlock force-release KEY"},
      {{"steal", "k"}, "dlock force-release KEY"},
      {{"ls"}, "dlock inspect"},
      {{"show", "k"}, "dlock inspect"},
      {{"who", "k"}, "dlock inspect"},
      {{"top"}, "dlock inspect --watch"},
      {{"watch"}, "dlock inspect --watch"},
      {{"log"}, "dlock history"},
      {{"logs", "k"}, "dlock history"},
      {{"extend", "k"}, "dlock renew KEY --owner OWNER"},
      {{"refresh", "k"}, "dlock renew KEY --owner OWNER"},
      {{"init"}, "dlock setup"},
      {{"stats"}, "dlock metrics"},
      {{"test", "k"}, "dlock wait -n KEY"},
      {{"run", "--key", "k"}, "dlock run KEY -- CMD"},
      {{"run", "--name=k"}, "dlock run KEY -- CMD"},
      {{"run", "--url", "redis://h"}, "-b URL"},
      {{"run", "--host", "h"}, "-b URL"},
      {{"--redis", "h", "run"}, "-b URL"},
      {{"run", "--password", "x"}, "password-file"},
      {{"run", "--user", "u"}, "redis://USER@HOST"},
      {{"run", "--tls"}, "rediss://HOST"},
      {{"run", "--cacert", "/f"}, "ca-file=/PATH"},
      {{"run", "--lease", "5"}, "--ttl D"},
      {{"run", "--expire", "5"}, "--ttl D"},
      {{"run", "--lock-timeout", "5"}, "--wait D"},
      {{"run", "--retries", "5"}, "--tries N"},
      {{"run", "--no-wait"}, "try once: -n"},
      {{"run", "--nowait"}, "try once: -n"},
      {{"run", "--semaphore", "3"}, "--permits N"},
      {{"run", "--max", "3"}, "--permits N"},
      {{"inspect", "--format", "json"}, "--json"},
      {{"inspect", "-o", "json"}, "--json"},
      {{"-n", "file", "cmd"}, "write: dlock run -n file cmd"},
      {{"-w", "5", "file", "-c", "a b"}, "write: dlock run -w 5 file -c 'a b'"},
      {{"-n", "run", "k", "--", "cmd"}, "write: dlock run -n k -- cmd"},
      {{"-n", "9"}, "eval \"$(dlock acquire --shell --watch-pid $$ KEY)\" || exit"},
      {{"9"}, "eval \"$(dlock acquire --shell --watch-pid $$ KEY)\" || exit"},
      {{"run", "-timeout=15s", "k", "x"}, "two: --timeout=15s"},
      {{"-timeout=15s", "k", "x"}, "two: --timeout=15s"},
      {{"run", "-ttl", "15s", "k", "x"}, "two: --ttl"},
      {{"inspect", "-json"}, "two: --json"},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& word : row.line) line += "[" + word + "] ";
    CAPTURE(line);
    ArgumentWords words(row.line);
    const auto split = split_arguments(words.count(), words.argv());
    REQUIRE(!split);
    CAPTURE(split.error().message);
    CAPTURE(split.error().next);
    CHECK(split.error().code == ErrorCode::kInvalid);
    CHECK(split.error().next.find(row.next) != std::string::npos);
  }
}

TEST_CASE("an argv without even a program name is no crash") {
  char* nothing[] = {nullptr};
  CHECK(!split_arguments(0, nothing));
}

}  // namespace arguments_test
