// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cmd/options/options.h"
#include "lib/base/log.h"
#include "tests/unit/cmd/argument_words.h"

namespace config_show_test {

using namespace dlock;

namespace {

/// Runs `dlock --config FILE config WORD...` with this text in FILE.
Result<std::string> config(const char* text, std::vector<std::string> line) {
  char name[] = "/tmp/dlock-show-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(write_all(fd, text));
  close(fd);
  line.insert(line.begin(), {"--config", name, "config"});
  ArgumentWords words(line);
  Variables variables{"DLOCK_WAIT=3s", "DLOCK_PASSWORD=s3cret"};
  const auto options = parse_command_line(words.count(), words.argv(), variables.environment());
  unlink(name);
  if (!options) return options.error();
  return config_text(*options);
}

constexpr const char* kFile =
    "default-backend = \"main\"\n"
    "[backend.main]\nurl = \"redis://u:s3cret@h\"\nttl = \"1m\"\nfallback = [\"redis://:s3cret@i\", \"local:\"]\n";

}  // namespace

TEST_CASE("config show prints each value with its origin, and no secret") {
  const auto text = config(kFile, {"show", "-q"});
  if (!text) FAIL(text.error().message);
  for (const char* line : {"default-backend", "main ", "$DLOCK_WAIT", "5s", "default", "-q", "redis://u:***@h",
                           "redis://:***@i local:", ":4\n", "renew-interval", "20s"}) {
    CAPTURE(line);
    CHECK((*text).find(line) != std::string::npos);
  }
  CHECK((*text).find("s3cret") == std::string::npos);
}

TEST_CASE("config show --json has a schema, the files, and the same settings") {
  const auto text = config(kFile, {"show", "--json"});
  REQUIRE(text);
  CHECK((*text).starts_with("{\"schema\":\"dlock.config/1\",\"files\":[\""));
  CHECK((*text).find("{\"name\":\"wait\",\"value\":\"3s\",\"origin\":\"$DLOCK_WAIT\"}") != std::string::npos);
  CHECK((*text).find("s3cret") == std::string::npos);
  CHECK((*text).ends_with("]}\n"));
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

}  // namespace config_show_test
