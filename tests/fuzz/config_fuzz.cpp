// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cmd/options/settings.h"
#include "tests/fuzz/target.h"

using namespace dlock;

const std::string_view dlock::kPieces[] = {"default-backend = \"main\"\n",
                                           "[defaults]\n",
                                           "[backend.main]\n",
                                           "[backend.\"x y\"]\n",
                                           "[key.\"a/*\"]\n",
                                           "permits = 3\n",
                                           "${HOME}",
                                           "$${",
                                           "url = \"redis://h\"\n",
                                           "ttl = \"30s\"\n",
                                           "ttl = 30\n",
                                           "ttl = 0.5\n",
                                           "ttl = nan\n",
                                           "ttl = 1e400\n",
                                           "wait = \"5\"\n",
                                           "fair = true\n",
                                           "tries = 9223372036854775807\n",
                                           "fallback = [\"a\", \"b\"]\n",
                                           "fallback = []\n",
                                           "password-file = \"/x\"\n",
                                           "wait_replicas = 2\n",
                                           "tll = 1\n",
                                           "= ",
                                           "\"",
                                           "'''",
                                           "[",
                                           "]",
                                           "[[defaults]]\n",
                                           "a.b.c = 1\n",
                                           "\\u0000",
                                           "\n",
                                           "#",
                                           "1979-05-27T07:32:00Z",
                                           "{ x = 1 }",
                                           "\xff\xfe",
                                           "backend = { m = { url = \"local:\" } }\n",
                                           ""};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
  const auto parsed = parse_config(as_text(data, size), "f", {config_keys, nothing});
  for (const Error& mistake : parsed.mistakes) {
    promise(mistake.code == ErrorCode::kMisconfigured, "a broken file is a wrong configuration");
    promise(mistake.message.starts_with("f:"), "an error begins with the file and the line");
  }
  for (const Setting& setting : parsed.settings) {
    promise(setting.origin.column > 0 && setting.origin.where.starts_with("f:"), "every value knows its place");
    promise(!setting.values.empty() || setting.key == "fallback", "every value is there");
  }
  return 0;
}
