// SPDX-License-Identifier: Apache-2.0
#include "lib/config/config.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include "lib/base/descriptor_io.h"

namespace config_test {

using namespace dlock;

namespace {

constexpr ConfigKey kKeys[] = {
    {"ttl", ConfigKey::Shape::kDuration, true, true},
    {"wait", ConfigKey::Shape::kDuration, false},
    {"fair", ConfigKey::Shape::kFlag, false},
    {"tries", ConfigKey::Shape::kNumber, false},
    {"fallback", ConfigKey::Shape::kList, true},
    {"reason", ConfigKey::Shape::kText, false, true},
    {"kill-after", ConfigKey::Shape::kDuration, true},
    {"permits", ConfigKey::Shape::kNumber, false, true, false},
    {"backend", ConfigKey::Shape::kText, false, true, false},
};

std::optional<std::string> variable(std::string_view name) {
  if (name == "RUN") return "17";
  if (name == "EMPTY") return "";
  return std::nullopt;
}

const ConfigRules kRules{[] { return std::span<const ConfigKey>(kKeys); }, variable};

ParsedConfig parse(const char* text) { return parse_config(text, "f.toml", kRules); }

/// A file of its own for one test case.
class File {
 public:
  explicit File(const char* text) {
    char name[] = "/tmp/dlock-config-XXXXXX";
    const int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    REQUIRE(write_all(fd, text));
    close(fd);
    path = name;
  }
  ~File() { unlink(path.c_str()); }
  std::string path;
};

}  // namespace

TEST_CASE("a configuration file gives settings with their place") {
  const auto settings = parse(
      "default-backend = \"main\"\n"
      "[defaults]\n"
      "ttl = \"1m\"\n"
      "wait = 30\n"
      "fair = true\n"
      "  tries = 4\n"
      "fallback = [\"local:\", \"redis://b\"]\n"
      "[backend.main]\n"
      "url = \"redis://a\"\n"
      "ttl = 0.5\n"
      "wait_replicas = 2\n"
      "fallback = \"local:\"\n");
  REQUIRE(settings.mistakes.empty());
  struct Row {
    const char* section;
    const char* key;
    std::vector<std::string> values;
    const char* position;
  };
  const Row rows[] = {
      {"", "default-backend", {"main"}, "f.toml:1:1"},
      {"defaults", "ttl", {"1m"}, "f.toml:3:1"},
      {"defaults", "wait", {"30"}, "f.toml:4:1"},
      {"defaults", "fair", {"true"}, "f.toml:5:1"},
      {"defaults", "tries", {"4"}, "f.toml:6:3"},
      {"defaults", "fallback", {"local:", "redis://b"}, "f.toml:7:1"},
      {"backend.main", "url", {"redis://a"}, "f.toml:9:1"},
      {"backend.main", "ttl", {"0.5"}, "f.toml:10:1"},
      {"backend.main", "wait_replicas", {"2"}, "f.toml:11:1"},
      {"backend.main", "fallback", {"local:"}, "f.toml:12:1"},
  };
  CHECK(settings.settings.size() == std::size(rows));
  Config config;
  for (const Setting& setting : settings.settings) config.add(setting);
  for (const Row& row : rows) {
    CAPTURE(row.key);
    const Setting* found = config.find(row.section, row.key);
    REQUIRE(found != nullptr);
    CHECK(found->values == row.values);
    CHECK(found->origin.position() == row.position);
    CHECK(std::string(row.position).starts_with(found->origin.text() + ":"));
  }
  CHECK(config.backend_names() == std::vector<std::string>{"main"});
}

TEST_CASE("what is wrong in a file is named with line, column and the nearest right word") {
  struct Row {
    const char* text;
    const char* message;
    const char* next;
  };
  const Row rows[] = {
      {"[defaults]\ntll = \"5s\"\n", "f.toml:2:1: unknown key 'tll' in [defaults]", "did you mean 'ttl'?"},
      {"[defaults]\nxyzzy = 1\n", "f.toml:2:1: unknown key 'xyzzy' in [defaults]", "man 5"},
      {"ttl = \"5s\"\n", "f.toml:1:1: unknown key 'ttl' at the top", "[defaults]"},
      {"[default]\n", "f.toml:1:2: unknown key 'default' at the top", "did you mean 'default"},
      {"defualt-backend = \"x\"\n", "f.toml:1:1: unknown key", "did you mean 'default-backend'?"},
      {"[backend.a]\nurll = \"redis://h\"\n", "f.toml:2:1: unknown key 'urll' in [backend.a]", "did you mean 'url'?"},
      {"[backend.a]\npassword = \"x\"\n", "unknown key 'password'", "did you mean 'password-file'?"},
      {"[backend.a]\nwait = 5\n", "f.toml:2:1: unknown key 'wait' in [backend.a]", ""},
      {"[backend.\"a/b\"]\nurl = \"x\"\n", "a backend cannot be called 'a/b'", "letters"},
      {"[backend.\"\"]\nurl = \"x\"\n", "a backend cannot be called ''", "letters"},
      {"[backend]\na = \"redis://h\"\n", "f.toml:2:1: backend.a is a string", "[backend.a]"},
      {"backend = 5\n", "backend is a whole number", "[backend.NAME]"},
      {"defaults = 5\n", "defaults is a whole number", "[defaults]"},
      {"default-backend = 5\n", "default-backend is a whole number", "in quotes"},
      {"[defaults]\nttl = true\n", "f.toml:2:7: ttl is a boolean", "duration"},
      {"[defaults]\nttl = nan\n", "ttl is not a number of seconds", "30s"},
      {"[defaults]\nttl = 1979-05-27\n", "ttl is a date or time", "duration"},
      {"[defaults]\nfair = \"yes\"\n", "fair is a string", "true or false"},
      {"[defaults]\ntries = 1.5\n", "tries is a number", "whole number"},
      {"[defaults]\nfallback = [1]\n", "fallback has a whole number in its list", "list"},
      {"[defaults]\nreason = [\"a\"]\n", "reason is a list", "in quotes"},
      {"[key.\"a/*\"]\ntll = 5\n", "f.toml:2:1: unknown key 'tll' in [key.\"a/*\"]", "did you mean 'ttl'?"},
      {"[key.a]\nwait = 5\n", "unknown key 'wait' in [key.\"a\"]", "[defaults]"},
      {"[key.a.b]\nttl = 5\n", "f.toml:1:8: unknown key 'b' in [key.\"a\"]", "needs quotes: [key.\"a.b\"]"},
      {"[key]\na = 5\n", "f.toml:2:1: key.a is a whole number", "write [key.\"a\"]"},
      {"[key.\"\"]\nttl = 5\n", "the name of a lock cannot be empty", ""},
      {"key = 5\n", "key is a whole number", "[key.\"NAME\"]"},
      {"[defaults]\npermits = 3\n", "unknown key 'permits' in [defaults]", "below a line [key.\"NAME\"]"},
      {"[defaults]\nreason = \"${NOT_SET}\"\n", "f.toml:2:1: reason: the variable NOT_SET is not set", "${NOT_SET:-"},
      {"[defaults]\nreason = \"${RUN\"\n", "reason: a ${ has no }", "$${"},
      {"[defaults]\nreason = \"${7}\"\n", "'7' is not the name of a variable", "$${"},
      {"[defaults]\nttl = 5s\n", "f.toml:2:", "write ttl = \"5s\""},
      {"[key.deploy/prod]\nttl = 5\n", "f.toml:1:", "write [key.\"deploy/prod\"]"},
      {"[\\u0051]\n", "f.toml:1:2:", "TOML"},  // aborts a toml++ whose assertions are on
      {"é = 1\n", "f.toml:1:1:", "TOML"},      // undefined behaviour in toml++ 3.3 as it comes
      {"[defaults\n", "f.toml:1:", "TOML"},
      {"[defaults]\nttl = 1\nttl = 2\n", "f.toml:3:", "TOML"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto settings = parse(row.text);
    REQUIRE(settings.mistakes.size() == 1);
    const Error& mistake = settings.mistakes.front();
    CAPTURE(mistake.message);
    CAPTURE(mistake.next);
    CHECK(mistake.code == ErrorCode::kMisconfigured);
    CHECK(mistake.message.find(row.message) != std::string::npos);
    CHECK(mistake.next.find(row.next) != std::string::npos);
  }
}

TEST_CASE("every mistake of a file is told, in the order of its lines") {
  const auto parsed = parse("zzz = 1\n[defaults]\nttl = true\nwiat = 5\nfair = 3\n[backend.a]\nurll = \"x\"\n");
  std::string places;
  for (const Error& mistake : parsed.mistakes) places += mistake.message.substr(0, mistake.message.find(": ")) + " ";
  CHECK(places == "f.toml:1:1 f.toml:3:7 f.toml:4:1 f.toml:5:8 f.toml:7:1 ");
}

TEST_CASE(
    "what is right in a file with mistakes is read, unless it is no TOML, and what may have named a backend is known "
    "to be lost") {
  struct Row {
    const char* text;
    const char* kept;  ///< the keys
    bool hides;
  };
  const Row rows[] = {
      {"[defaults]\nttl = 5\nwait = 10m\n", "", true},
      {"[defaults]\nttl = 5\nreason = \"open\nfair = true\n", "", true},
      {"[defaults]\nttl = 5\nttl = 6\n", "", true},
      {"[defaults]\ntll = 5\nwait = 6\n", "wait ", false},
      {"ttl = 5\n[defaults]\nwait = 6\n", "wait ", false},
      {"[defualts]\nwait = 6\n", "", false},
      {"default-backend = 5\n[defaults]\nttl = 5\n", "ttl ", true},
      {"default-backend = \"${NOT_SET}\"\n", "", true},
      {"defaultbackend = \"redis://h\"\n[defaults]\nttl = 5\n", "ttl ", true},
      {"[defaults]\ndefault-backend = \"redis://h\"\nttl = 5\n", "ttl ", true},
      {"backend = \"redis://h\"\n", "", true},
      {"[key.a]\nbackend = 5\nttl = 5\n", "ttl ", true},
      {"[key.a]\nbackand = \"b\"\nttl = 5\n", "ttl ", true},
      {"[key.a]\ntll = 5\nreason = \"r\"\n", "reason ", false},
      {"[\\u0051]\n", "", true},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.text));
    const auto parsed = parse(row.text);
    CHECK(!parsed.mistakes.empty());
    std::string kept;
    for (const Setting& setting : parsed.settings) kept += setting.key + " ";
    CHECK(kept == std::string(row.kept));
    CHECK(parsed.hides_backend == row.hides);
  }
}

TEST_CASE("variables stand for their values, everywhere in a value") {
  const auto value = [](const std::string& text) {
    const auto expanded = expand_variables(text, variable);
    return expanded ? *expanded : "mistake";
  };
  CHECK(value("run ${RUN} of ${RUN}") == "run 17 of 17");
  CHECK(value("${EMPTY}") == "");
  CHECK(value("${NOT_SET:-none}, ${EMPTY:-none}, ${RUN:-none}, ${NOT_SET:-}") == "none, none, 17, ");
  CHECK(value("$RUN $5 {RUN} $${RUN} $") == "$RUN $5 {RUN} ${RUN} $");
  CHECK(value("${NOT_SET}") == "mistake");
  CHECK(value("${}") == "mistake");
}

TEST_CASE("the most specific section of a key is the key itself, then the one with most characters of its own") {
  const auto parsed = parse(
      "[key.\"*\"]\nttl = 1\n[key.\"deploy/*\"]\nttl = 2\n[key.\"deploy/[a-z][a-z]*\"]\nttl = 3\n"
      "[key.\"*oy/prod\"]\nttl = 4\n[key.\"deploy/prod\"]\nttl = 5\n[key.\"deploy\"]\nttl = 6\n"
      "[key.\"?eploy/*\"]\nttl = 7\n");
  REQUIRE(parsed.mistakes.empty());
  Config config;
  for (const Setting& setting : parsed.settings) config.add(setting);
  using Names = std::vector<std::string>;
  CHECK(config.key_sections_for("deploy/prod") ==
        Names{"key.deploy/prod", "key.*oy/prod", "key.deploy/*", "key.deploy/[a-z][a-z]*", "key.?eploy/*", "key.*"});
  CHECK(config.key_sections_for("deploy/*").front() == "key.deploy/*");
  CHECK(config.key_sections_for("other") == Names{"key.*"});
}

TEST_CASE("a folder has conf.d, of which the last file wins, and config.toml, over which all of them win") {
  char folder[] = "/tmp/dlock-folder-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path(folder);
  REQUIRE(mkdir((path + "/conf.d").c_str(), 0700) == 0);
  const auto put = [&](const std::string& name, const std::string& text, mode_t mode) {
    FILE* out = fopen((path + name).c_str(), "w");
    REQUIRE(out != nullptr);
    REQUIRE(fputs(text.c_str(), out) >= 0);
    fclose(out);
    REQUIRE(chmod((path + name).c_str(), mode) == 0);
  };
  put("/config.toml", "[defaults]\nttl = 1\nwait = 1\ntries = 1\n", 0600);
  put("/conf.d/10-first.toml", "[defaults]\nttl = 10\nwait = 10\n", 0600);
  put("/conf.d/20-second.toml", "[defaults]\nttl = 20\n[backend.b]\nurl = \"redis://u:p@h\"\n", 0644);
  put("/conf.d/30-third.conf", "this is read by nobody", 0600);
  put("/conf.d/.40-hidden.toml", "this is read by nobody", 0600);
  Config config;
  config.add_folder(path, Config::Trust::kFound, kRules);
  for (const char* name : {"/config.toml", "/conf.d/10-first.toml", "/conf.d/20-second.toml", "/conf.d/30-third.conf",
                           "/conf.d/.40-hidden.toml"}) {
    unlink((path + name).c_str());
  }
  rmdir((path + "/conf.d").c_str());
  rmdir(folder);
  CHECK(config.mistakes().empty());
  CHECK(config.find("defaults", "ttl")->value() == "20");
  CHECK(config.find("defaults", "wait")->value() == "10");
  CHECK(config.find("defaults", "tries")->value() == "1");
  CHECK(config.files() == std::vector<std::string>{path + "/conf.d/20-second.toml", path + "/conf.d/10-first.toml",
                                                   path + "/config.toml"});
  REQUIRE(config.faults().size() == 1);
  CHECK(config.faults()[0].message.find("20-second.toml:4 holds a password") != std::string::npos);
  Config nothing;
  nothing.add_folder(path, Config::Trust::kSystem, kRules);
  CHECK(nothing.files().empty());
  CHECK(nothing.mistakes().empty());
}

TEST_CASE("what has been set by a stronger layer stays, key by key") {
  const File strong("[defaults]\nttl = \"1s\"\n");
  const File weak("[defaults]\nttl = \"2s\"\nwait = \"3s\"\n");
  Config config;
  REQUIRE(config.add({"defaults", "reason", {"flag"}, {Origin::Layer::kFlag, "-m"}}));
  CHECK(!config.add({"defaults", "reason", {"env"}, {Origin::Layer::kEnvironment, "DLOCK_REASON"}}));
  config.add_file(strong.path, Config::Trust::kChosen, kRules);
  config.add_file(weak.path, Config::Trust::kFound, kRules);
  CHECK(config.mistakes().empty());
  CHECK(config.find("defaults", "ttl")->value() == "1s");
  CHECK(config.find("defaults", "wait")->value() == "3s");
  CHECK(config.find("defaults", "wait")->origin.text() == weak.path + ":3");
  CHECK(config.find("defaults", "reason")->origin.text() == "-m");
  CHECK(config.find("defaults", "tries") == nullptr);
  CHECK(config.files() == std::vector<std::string>{strong.path, weak.path});
}

TEST_CASE("a file that is not there matters only when somebody asked for it") {
  Config config;
  config.add_file("/nowhere/dlock.toml", Config::Trust::kFound, kRules);
  CHECK(config.files().empty());
  CHECK(config.mistakes().empty());
  config.add_file("/nowhere/dlock.toml", Config::Trust::kChosen, kRules);
  REQUIRE(config.mistakes().size() == 1);
  CHECK(config.mistakes()[0].code == ErrorCode::kMisconfigured);
  CHECK(config.mistakes()[0].message.find("/nowhere/dlock.toml: No such file") != std::string::npos);
}

TEST_CASE("a folder is no configuration file") {
  Config config;
  config.add_file("/tmp", Config::Trust::kSystem, kRules);
  REQUIRE(config.mistakes().size() == 1);
  CHECK(config.mistakes()[0].message.find("Is a directory") != std::string::npos);
}

TEST_CASE("a file with a password in it that others can read is a fault, one without is none") {
  struct Row {
    const char* text;
    mode_t mode;
    const char* says;  ///< nullptr: no fault
  };
  const Row rows[] = {
      {"[backend.b]\nurl = \"redis://u:p@h\"\n", 0600, nullptr},
      {"[backend.b]\nurl = \"redis://u:p@h\"\n", 0400, nullptr},
      {"[backend.b]\nurl = \"redis://u:p@h\"\n", 0644,
       ":2 holds a password, and the file can be used by others (mode 0644)"},
      {"[backend.b]\nurl = \"redis://u:p@h\"\n", 0640, "(mode 0640)"},
      {"default-backend = \"redis://:p@h\"\n", 0604, ":1 holds a password"},
      {"[defaults]\nfallback = [\"local:\", \"redis://:p@h\"]\n", 0644, ":2 holds a password"},
      {"[backend.b]\nurl = \"redis://u:${RUN}@h\"\n", 0644, nullptr},
      {"[backend.b]\nurl = \"redis://u:a${RUN}@h\"\n", 0644, "holds a password"},
      {"[backend.b]\nurl = \"redis://u@h\"\n[defaults]\nreason = \"see http://a@b\"\n", 0666, nullptr},
  };
  for (const Row& row : rows) {
    const File file(row.text);
    CAPTURE(row.text);
    CAPTURE(row.mode);
    REQUIRE(chmod(file.path.c_str(), row.mode) == 0);
    Config config;
    config.add_file(file.path, Config::Trust::kFound, kRules);
    REQUIRE(config.mistakes().empty());
    CHECK(config.faults().size() == (row.says ? 1 : 0));
    if (!row.says || config.faults().empty()) continue;
    CHECK(config.faults()[0].code == ErrorCode::kDenied);
    CHECK(config.faults()[0].message.find(row.says) != std::string::npos);
    CHECK(config.faults()[0].next.starts_with("chmod 600 " + file.path));
  }
}

TEST_CASE("origins are told as people know them") {
  CHECK(Origin{}.text() == "default");
  CHECK(Origin{Origin::Layer::kFlag, "--ttl"}.text() == "--ttl");
  CHECK(Origin{Origin::Layer::kEnvironment, "DLOCK_TTL"}.text() == "$DLOCK_TTL");
  CHECK(Origin{Origin::Layer::kFile, "f:3", 7}.text() == "f:3");
  CHECK(Origin{Origin::Layer::kFile, "f:3", 7}.position() == "f:3:7");
}

}  // namespace config_test
