// SPDX-License-Identifier: Apache-2.0
#include "cmd/commands/commands.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cmd/options/stock_actions.h"
#include "tests/support/command_world.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_stock.h"
#include "tests/unit/cmd/argument_words.h"

namespace stock_test {

using namespace dlock;
using dlock::testing::FakeClock;
using dlock::testing::MemoryShelf;
using dlock::testing::MemoryStock;
using namespace std::chrono_literals;

namespace {

/// Its `child` points to words that are gone: child_of().
Result<Options> parse(const std::vector<std::string>& line) {
  ArgumentWords words(line);
  Variables variables({});
  return parse_command_line(words.count(), words.argv(), variables.environment());
}

Options parsed(const std::vector<std::string>& line) {
  auto options = parse(line);
  INFO((options ? std::string() : options.error().message));
  REQUIRE(options);
  return std::move(*options);
}

/// The command in `line`, whose words lie in argv.
std::vector<std::string> child_of(const std::vector<std::string>& line) {
  ArgumentWords words(line);
  Variables variables({});
  const auto options = parse_command_line(words.count(), words.argv(), variables.environment());
  REQUIRE(options);
  std::vector<std::string> child;
  for (const char* word : options->child) {
    if (word) child.emplace_back(word);
  }
  return child;
}

StockState phone() {
  StockState state{.name = *LockName::parse("phone"), .segments = {{48, 0}, {12, 3}, {0, 0}}};
  state.created = 100;
  state.taken = 40;
  state.refunded = 3;
  state.open = 1;
  return state;
}

}  // namespace

TEST_CASE("stock run: options may stand behind the name, what stands behind -- is the command's") {
  const std::vector<std::string> line{"stock",  "run",  "phone", "--qty", "2",     "--id", "order-77",
                                      "--mode", "lock", "--",    "cmd",   "--qty", "x",    "--"};
  const Options options = parsed(line);
  CHECK(options.stock->action == StockAction::kRun);
  CHECK(options.stock->claim->quantity == 2);
  CHECK(options.stock->claim->id.text() == "order-77");
  CHECK(options.stock->claim->lock_segment);
  CHECK(child_of(line) == std::vector<std::string>{"cmd", "--qty", "x", "--"});
  CHECK(parsed({"stock", "run", "-c", "echo a", "phone"}).shell_command == "echo a");
}

TEST_CASE("stock: what cannot be understood is refused with what is missing or the nearest right word") {
  struct Row {
    std::vector<std::string> line;
    const char* message;
    const char* next;
  };
  const Row rows[] = {
      {{"stock"}, "needs an action", "create, show"},
      {{"stock", "tke", "x"}, "has no 'tke'", "'take'"},
      {{"stock", "take"}, "needs the NAME", "usage: dlock stock take"},
      {{"stock", "take", "a", "b"}, "not also 'b'", "usage"},
      {{"stock", "run", "a", "cmd"}, "not also 'cmd'", "put -- before the command"},
      {{"stock", "run", "a"}, "no command to run", "dlock stock take"},
      {{"stock", "run", "a", "-c", "x", "--", "y"}, "both -c STR", ""},
      {{"stock", "create", "a"}, "--quantity is missing", "usage"},
      {{"stock", "add", "a"}, "--qty is missing", "usage"},
      {{"stock", "refund", "a"}, "--id is missing", "usage"},
      {{"stock", "resize", "a"}, "--segments is missing", "usage"},
      {{"stock", "drop", "a"}, "--yes is missing", "usage"},
      {{"stock", "take", "a", "--segments", "3"},
       "'dlock stock take' has no option --segments",
       "dlock help stock take"},
      {{"stock", "show", "a", "-n"}, "has no option -n", ""},
      {{"stock", "take", "a", "--qty", "0"}, "'0' is not a quantity", "1 to 9007199254740992"},
      {{"stock", "take", "a", "--qty", "-1"}, "'-1' is not a quantity", ""},
      {{"stock", "take", "a", "--qty", "1.5"}, "'1.5' is not a quantity", ""},
      {{"stock", "take", "a", "--qty", "9007199254740993"}, "is not a quantity", ""},
      {{"stock", "create", "a", "--quantity", "x"}, "'x' is not a quantity", "0 to"},
      {{"stock", "create", "a", "--quantity", "1", "--segments", "0"}, "--segments", ""},
      {{"stock", "create", "a", "--quantity", "1", "--segments", "1001"}, "--segments", ""},
      {{"stock", "take", "a", "--id", ""}, "not a valid id", "255 bytes"},
      {{"stock", "take", "a", "--id", "a\nb"}, "not a valid id", ""},
      {{"stock", "take", ""}, "the key is empty", ""},
      {{"stock", "take", "a", "--segments", "5"},
       "'dlock stock take' has no option --segments",
       "dlock help stock take"},
      {{"stock", "take", "a", "--ids-from", "f"}, "unknown option '--ids-from'", "dlock stock batch"},
      {{"stock", "run", "a", "--mode", "lok", "--", "x"}, "lok", "lock"},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& word : row.line) line += "[" + word + "] ";
    CAPTURE(line);
    const auto options = parse(row.line);
    REQUIRE_FALSE(options);
    CAPTURE(options.error().message);
    CAPTURE(options.error().next);
    CHECK(options.error().code == ErrorCode::kInvalid);
    CHECK(options.error().message.find(row.message) != std::string::npos);
    CHECK(options.error().next.find(row.next) != std::string::npos);
  }
}

TEST_CASE("stock: JSON tells all of it") {
  CHECK(stock_json(phone()) ==
        "{\"schema\":\"dlock.stock/1\",\"name\":\"phone\",\"total\":60,\"reserved\":3,\"open\":1,\"created\":100,"
        "\"added\":0,\"taken\":40,\"refunded\":3,\"segments\":[{\"segment\":0,\"quantity\":48,\"reserved\":0},"
        "{\"segment\":1,\"quantity\":12,\"reserved\":3},{\"segment\":2,\"quantity\":0,\"reserved\":0}]}");
}

TEST_CASE("stock: a line for each segment, with a bar on a terminal that fits its width") {
  CHECK(stock_text(phone(), {}) ==
        "phone  60 left, 3 set aside by 1 open take; created 100, added 0, taken 40, refunded 3\n"
        "  0  48\n"
        "  1  12  3 set aside\n"
        "  2   0\n");
  const std::string shown = stock_text(phone(), {.terminal = true, .colour = false, .width = 40});
  CHECK(shown.find("  0  48  ███████████████\n") != std::string::npos);
  CHECK(shown.find("  1  12  ███░") != std::string::npos);
  CHECK(shown.find("  2   0\n") != std::string::npos);
  const std::string ascii = stock_text(phone(), {.terminal = true, .width = 40, .unicode = false});
  CHECK(ascii.find("  0  48  ###############\n") != std::string::npos);
  CHECK(ascii.find("  1  12  ###-") != std::string::npos);
}

TEST_CASE("stock: many segments share lines, as many as fit") {
  StockState state = phone();
  state.segments.assign(10, {100, 0});
  state.segments[1] = {7, 3};
  const std::string plain = stock_text(state, {.width = 80});
  CHECK(plain.substr(plain.find('\n') + 1) ==
        "   0  100                1    7  3 set aside   2  100\n"
        "   3  100                4  100                5  100\n"
        "   6  100                7  100                8  100\n"
        "   9  100\n");
  const std::string shown = stock_text(state, {.terminal = true, .width = 80, .unicode = false});
  CHECK(shown.find("   0  100  ##########") != std::string::npos);
  CHECK(std::count(shown.begin(), shown.end(), '\n') < 8);
}

TEST_CASE("stock take says that it waits, as a run does, and what it got; with -n and -q nothing") {
  const LockName phone = *LockName::parse("phone");
  for (const char* option : {"", "-n", "-q"}) {
    CAPTURE(option);
    CommandWorld w;
    MemoryShelf shelf(w.clock, {1});
    MemoryStock stock(shelf);
    const StockRequest other{phone, *LockName::parse("other"), 1};
    REQUIRE(stock.reserve(other, Owner::random(), 3s, 0, {w.clock.now() + 1s}));
    std::vector<std::string> line{"stock", "take", "phone", "--id", "a"};
    if (option == std::string("-n")) line.insert(line.end(), {"-n"});
    else line.insert(line.end(), {"--wait", "1m"});
    if (option == std::string("-q")) line.insert(line.end(), {"-q"});
    const Options options = parsed(line);
    w.log = Log(options.log, w.err.get());
    CHECK(stock_command(options, stock, w.runtime, w.output) == (option == std::string("-n") ? 75 : 0));
    const std::string said = w.said();
    CHECK((said.find("waiting for phone, 1 s of 1 min") != std::string::npos) == (*option == 0));
    CHECK((said.find("got phone after 3") != std::string::npos) == (*option == 0));
  }
}

TEST_CASE("stock take says that it was served before, but not in JSON, which has a field for it") {
  CommandWorld w;
  MemoryShelf shelf(w.clock, {4});
  MemoryStock stock(shelf);
  const Options text = parsed({"stock", "take", "phone", "--id", "a"});
  CHECK(stock_command(text, stock, w.runtime, w.output) == 0);
  CHECK(w.said().empty());
  CHECK(stock_command(parsed({"stock", "take", "phone", "--id", "a", "--json"}), stock, w.runtime, w.output) == 0);
  CHECK(w.said().empty());
  CHECK(stock_command(text, stock, w.runtime, w.output) == 0);
  CHECK(w.said().find("repeated: request 'a' was served before") != std::string::npos);
  CHECK(w.out.ends_with("0 1\n"));
}

TEST_CASE("stock show leaves out what was dropped since it was listed") {
  FakeClock clock;
  MemoryShelf shelf(clock, {4});
  const Log log({.quiet = true});
  const LockName gone = *LockName::parse("gone");
  shelf.listed = {gone, *LockName::parse("phone")};
  shelf.dropped = {gone};
  MemoryStock stock(shelf);
  std::string shown;
  Output out(shown, {});
  CHECK(stock_show(parsed({"stock", "show"}), stock, {clock, log}, out) == 0);
  CHECK(shown.starts_with("phone  4 left"));
}

}  // namespace stock_test
