// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/completion.h"

#include <doctest/doctest.h>

#include <string>

#include "cmd/options/option_table.h"

namespace completion_test {

using namespace dlock;
using Words = std::vector<std::string_view>;
using Live = Completion::Live;

/// The words offered, without what explains them.
std::string offered(const Completion& found) {
  std::string words;
  for (std::string_view rest = found.lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    words.append(words.empty() ? "" : " ").append(line.substr(0, line.find('\t')));
  }
  return words;
}

TEST_CASE("what may follow a line that is being typed") {
  struct Row {
    Words line;
    const char* offered;
    Live live = Live::kNone;
  };
  const Row rows[] = {
      {{}, ""},
      {{"ru"}, "run"},
      {{"--vers"}, "--version"},
      {{"-b", "h:1", "ru"}, "run"},
      {{"--color", "always", "ru"}, "run"},
      {{"--color", "a"}, "auto always"},
      {{"run", "--non"}, "--nonblock"},
      {{"run", "--on-lost", "t"}, "term"},
      {{"run", "--on-lost=si"}, "--on-lost=signal:USR1 --on-lost=signal:HUP"},
      {{"run", "-n", ""}, "", Live::kKeys},
      {{"run", "a", "b"}, "", Live::kKeys},
      {{"run", "k", "-"}, "", Live::kKeys},
      {{"run", "k", "--", ""}, ":command 4"},
      {{"run", "k", "--", "dlock", "ru"}, ":command 4"},
      {{"run", "--", ""}, ""},
      {{"run", "-m", "--", ""}, ""},
      {{"run", "-b", ""}, "local:", Live::kBackends},
      {{"run", "--backend=l"}, "--backend=local:", Live::kBackends},
      {{"run", "--wait", ""}, ""},
      {{"run", "--report", ""}, "fd:3 :files"},
      {{"run", "--events=j"}, "--events=journald :files"},
      {{"acquire", "k", ""}, ""},
      {{"check", "k", ""}, ""},
      {{"history", "--svg", ""}, "", Live::kKeys},
      {{"fence", ""}, ""},
      {{"completion", "z"}, "zsh"},
      {{"config", "s"}, "show"},
      {{"config", "show", ""}, "", Live::kKeys},
      {{"config", "check", ""}, ""},
      {{"bench", ""}, "stock"},
      {{"help", "force"}, "force-release"},
      {{"help", "stock", "reb"}, "rebalance"},
      {{"help", "run", ""}, ""},
      {{"stock", "ta"}, "take"},
      {{"stock", "take", ""}, "", Live::kStocks},
      {{"stock", "take", "phone", ""}, ""},
      {{"stock", "take", "phone", "--re"}, ""},
      {{"stock", "run", "phone", "--rep"}, "--report"},
      {{"stock", "run", "phone", "--", "c"}, ":command 5"},
      {{"nonsense", "x", ""}, ""},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string_view word : row.line) line += "[" + std::string(word) + "] ";
    CAPTURE(line);
    const Completion found = complete_words(row.line);
    CHECK(offered(found) == row.offered);
    CHECK(found.live == row.live);
  }
}

TEST_CASE("live names are those of the store and the file that the line names, and begin with what is typed") {
  const Completion found = complete_words({"-C", "mine.toml", "inspect", "--backend=redis://h", "-n", "dep"});
  REQUIRE(found.where.size() == 2);
  CHECK(found.where[0].row->id == OptionId::kConfig);
  CHECK(found.where[0].value == "mine.toml");
  CHECK(found.where[1].row->id == OptionId::kBackend);
  CHECK(found.where[1].value == "redis://h");
  CHECK(found.typed == "dep");
  const Completion value = complete_words({"run", "--fallback=re"});
  CHECK(value.typed == "re");
  CHECK(value.before == "--fallback=");
}

TEST_CASE("every option of a command is offered, with what its help says") {
  const Completion found = complete_words({"run", "--"});
  for (const OptionRow& row : option_rows()) {
    const std::string line = "--" + std::string(row.name) + "\t" + std::string(row.help) + "\n";
    if (has_option(Command::kRun, row)) CHECK_MESSAGE(found.lines.find(line) != std::string::npos, line);
  }
}

}  // namespace completion_test
