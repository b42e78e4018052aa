// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/option_table.h"

#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <set>
#include <string>

#include "cmd/options/settings.h"

namespace option_table_test {

using namespace dlock;

TEST_CASE("no two options of a command share a name, and no two a letter, a variable or a key") {
  std::map<std::string_view, CommandSet> names;
  std::map<char, CommandSet> letters;
  std::set<std::string_view> variables;
  for (const OptionRow& row : option_rows()) {
    CAPTURE(row.name);
    CHECK((names[row.name] & row.commands) == 0);
    names[row.name] |= row.commands;
    if (row.letter != 0) CHECK((letters[row.letter] & row.commands) == 0);
    letters[row.letter] |= row.commands;
    if (!row.variable.empty()) CHECK(variables.insert(row.variable).second);
    CHECK(!row.help.empty());
    CHECK(row.commands != 0);
    CHECK((row.value.kind == ValueKind::kFlag) == row.value.name.empty());
    const auto command = static_cast<Command>(std::countr_zero(row.commands));
    CHECK(find_option(row.name, &command_row(command)) == &row);
    if (row.letter != 0) CHECK(find_option(row.letter, &command_row(command)) == &row);
    // In a file a key is called as its option is.
  }
}

TEST_CASE("no two commands share a name") {
  std::set<std::string_view> names;
  for (const CommandRow& row : command_rows()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_command(row.name) == &row);
    CHECK(&command_row(row.command) == &row);
  }
}

TEST_CASE("help names every option of a command with its default and its variable, and those of all in one place") {
  const auto general = help_text({"options"});
  REQUIRE(general);
  for (const CommandRow& command : command_rows()) {
    if (command.group.empty()) continue;
    const auto text = help_text({std::string(command.name)});
    REQUIRE(text);
    for (const OptionRow& row : option_rows()) {
      CAPTURE(command.name);
      CAPTURE(row.name);
      const std::string label =
          ", --" + std::string(row.name) + (row.value.name.empty() ? "" : " " + std::string(row.value.name));
      const std::string lone = "      --" + label.substr(4);
      const std::string line = (row.letter != 0 ? label : lone) + (row.value.name.empty() ? "  " : "");
      const bool told = (*text).find(line) != std::string::npos;
      CHECK(((*general).find(line) != std::string::npos) == row.anywhere);
      const bool rare = (row.rare & bit(command.command)) != 0;
      CHECK(told == (has_option(command.command, row) && !rare && !row.anywhere));
      const bool names_variable = (*text).find("$" + std::string(row.variable)) != std::string::npos;
      const bool flag_only = (row.flag_only & bit(command.command)) != 0;
      if (told && !row.variable.empty()) CHECK(names_variable == !flag_only);
    }
  }
}

TEST_CASE("help of a batch says what --wait means there") {
  const auto batch = help_text({"stock", "batch"});
  const auto take = help_text({"stock", "take"});
  REQUIRE(batch);
  REQUIRE(take);
  CHECK(batch->find("no answer is sent") != std::string::npos);
  CHECK(batch->find("[10s; $DLOCK_WAIT]") != std::string::npos);
  CHECK(batch->find("same as -n") == std::string::npos);
  CHECK(take->find("same as -n") != std::string::npos);
}

TEST_CASE("help speaks of the command that is asked about alone, help stock names the actions that have an option") {
  const auto run = help_text({"run"});
  const auto stock = help_text({"stock"});
  const auto action = help_text({"stock", "run"});
  REQUIRE((run && stock && action));
  CHECK((*run).find("force-release") == std::string::npos);
  CHECK((*stock).find("take, run: exit status") != std::string::npos);
  CHECK((*stock).find("run: what happens to CMD when the lock is lost") != std::string::npos);
  CHECK((*stock).find("drop: required") != std::string::npos);
  CHECK((*stock).find("force-release") == std::string::npos);
  CHECK((*action).find("  what happens to CMD when the lock is lost") != std::string::npos);
}

TEST_CASE("the overview names every command that is there for people") {
  const auto text = help_text({});
  REQUIRE(text);
  for (const CommandRow& row : command_rows()) {
    CAPTURE(row.name);
    CHECK(((*text).find("\n  " + std::string(row.name) + " ") != std::string::npos) == !row.group.empty());
  }
  const auto unknown = help_text({"rum"});
  REQUIRE(!unknown);
  CHECK(unknown.error().next == "did you mean 'run'?");
}

TEST_CASE("there is a completion script for three shells, which asks dlock") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(shell);
    REQUIRE(script);
    CHECK((*script).find("dlock __complete") != std::string::npos);
  }
  CHECK(!completion_script("csh"));
}

TEST_CASE("only options with a configuration key may stand in a file") {
  std::set<std::string_view> keys;
  for (const ConfigKey& key : config_keys()) keys.insert(key.name);
  CHECK(keys.count("ttl") == 1);
  CHECK(keys.count("nonblock") == 0);
  CHECK(keys.count("yes") == 0);
  CHECK(keys.count("default-backend") == 0);
}

}  // namespace option_table_test
