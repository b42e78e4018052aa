// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cmd/options/options.h"
#include "lib/base/descriptor_io.h"
#include "tests/unit/cmd/argument_words.h"

namespace config_show_test {

using namespace dlock;

namespace {

/// Parses `dlock --config FILE WORD...` with this text in FILE.
Result<Options> options_of(const char* text, std::vector<std::string> line) {
  char name[] = "/tmp/dlock-show-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(write_all(fd, text));
  close(fd);
  line.insert(line.begin(), {"--config", name});
  ArgumentWords words(line);
  Variables variables{"DLOCK_WAIT=3s", "DLOCK_PASSWORD=s3cret"};
  auto options = parse_command_line(words.count(), words.argv(), variables.environment());
  unlink(name);
  return options;
}

/// Runs `dlock --config FILE config WORD...`.
Result<std::string> config(const char* text, std::vector<std::string> line) {
  line.insert(line.begin(), "config");
  const auto options = options_of(text, std::move(line));
  if (!options) return options.error();
  if (options->words.front() == "show") return config_text(*options);
  if (!options->mistakes.empty()) return options->mistakes.front();
  return config_check_text(*options);
}

constexpr const char* kFile =
    "default-backend = \"main\"\n"
    "[backend.main]\nurl = \"redis://u:s3cret@h\"\nttl = \"1m\"\nfallback = [\"redis://:s3cret@i\", \"local:\"]\n";

}  // namespace

TEST_CASE("values that do not fit together are said, and the others are shown and looked at all the same") {
  const char* text =
      "[defaults]\nttl = \"8s\"\nkill-after = \"5s\"\nreason = \"x\"\nat-least = 5\nmax-hold = 3\nreport = \"\"\n";
  const auto shown = config(text, {"show"});
  if (!shown) FAIL(shown.error().message);
  CHECK((*shown).find("reason") != std::string::npos);
  const auto options = options_of(text, {"doctor"});
  REQUIRE(options);
  REQUIRE(options->mistakes.size() == 3);
  CHECK(options->mistakes[0].message.find("report: the file is empty") != std::string::npos);
  CHECK(options->mistakes[1].message.find("leaves no room for 5s") != std::string::npos);
  CHECK(options_of(text, {"inspect"})->mistakes.size() == 1);  // what fits nowhere, and not what does not fit together
  CHECK(!options_of(text, {"run", "k", "--", "true"}));
}

TEST_CASE("config check looks at the backends that are not in use as well") {
  CHECK(config(kFile, {"check"}));
  for (const char* broken :
       {"[backend.x]\nurl = \"rediz://h\"\n", "[backend.x]\nurl = \"redis://h\"\nttl = \"1q\"\n",
        "[backend.x]\nurl = \"redis://h\"\nttl = \"8s\"\nkill-after = \"5s\"\n",
        "[backend.x]\nurl = \"redis://h\"\nfallback = \"nowhere\"\n",
        "[backend.x]\nurl = \"redis://h\"\nmode = \"ex\"\n",
        "[backend.x]\nurl = \"redis://h\"\npassword-file = \"/nowhere/pw\"\n",
        "[backend.x]\nurl = \"redis://h\"\nif-unavailable = \"rum\"\n", "[backend.x]\nttl = 5\n"}) {
    CAPTURE(broken);
    const auto text = config(broken, {"check"});
    REQUIRE(!text);
    CHECK(text.error().code == ErrorCode::kMisconfigured);
  }
}

TEST_CASE("config check tells every mistake, once, and of what is not in use as well") {
  const char* text =
      "default-backend = \"nowhere\"\n"                                                     // 1
      "[defaults]\nttl = \"0.1\"\nwait = \"5x\"\nfallback = [\"gone\", \"away\"]\n"         // 2 to 5
      "[backend.a]\nurl = \"rediz://h\"\nfallback = \"lost\"\nkill-after = \"1h\"\n"        // 6 to 9
      "[key.\"x/*\"]\npermits = 0\nreason = \"ok\"\nbackend = \"b\"\non-lost = \"trem\"\n"  // 10 to 14
      "zzz = 1\n";                                                                          // 15
  char name[] = "/tmp/dlock-check-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(write_all(fd, text));
  close(fd);
  ArgumentWords words({"--config", name, "config", "check", "--strict"});
  Variables variables{"DLOCK_TLL=3"};
  const auto options = parse_command_line(words.count(), words.argv(), variables.environment());
  unlink(name);
  REQUIRE(options);
  std::vector<int> lines;
  for (const Error& mistake : options->mistakes) {
    const std::string place = std::string(name) + ":";
    CAPTURE(mistake.message);
    REQUIRE(mistake.message.starts_with(place));
    CHECK(mistake.code == ErrorCode::kMisconfigured);
    lines.push_back(std::stoi(mistake.message.substr(place.size())));
  }
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<int>{1, 3, 4, 5, 5, 7, 8, 9, 11, 13, 14, 15});
  CHECK(options->strict);
  CHECK(options->warnings.size() == 1);
}

TEST_CASE("config show KEY tells what holds for that key, and where it stands") {
  const char* text =
      "[defaults]\nttl = \"20s\"\nwait = \"9s\"\n[key.\"deploy/*\"]\nttl = \"40s\"\npermits = 3\n"
      "[key.\"deploy/prod\"]\nttl = \"50s\"\n";
  const auto of = [&](const char* key) {
    std::vector<std::string> line{"show"};
    if (key != nullptr) line.emplace_back(key);
    auto shown = config(text, line);
    REQUIRE(shown);
    return std::move(*shown);
  };
  const auto has = [](const std::string& shown, const char* name, const char* value, const char* place) {
    const std::size_t at = shown.find(std::string("\n") + name + " ");
    REQUIRE(at != std::string::npos);
    const std::string line = shown.substr(at + 1, shown.find('\n', at + 1) - at - 1);
    CAPTURE(line);
    CHECK(line.find(std::string(" ") + value + " ") != std::string::npos);
    CHECK(line.ends_with(place));
  };
  has(of("deploy/prod"), "ttl", "50s", ":8");
  has(of("deploy/prod"), "permits", "3", ":6");
  has(of("deploy/test"), "ttl", "40s", ":5");
  has(of("other"), "ttl", "20s", ":2");
  has(of("other"), "permits", "-", "default");
  has(of(nullptr), "key.\"deploy/*\".ttl", "40s", ":5");
}

}  // namespace config_show_test
