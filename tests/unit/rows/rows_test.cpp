// SPDX-License-Identifier: Apache-2.0
#include "lib/rows/rows.h"

#include <doctest/doctest.h>

#include "lib/rows/commit_pieces.h"
#include "tests/support/fake_clock.h"
#include "tests/support/memory_rows.h"
#include "tests/support/rows_contract.h"

namespace dlock::testing::rows_test {
namespace {

/// On each of two clients of a store, as RowsWorld has them.
struct MemoryWorld {
  FakeClock clock;
  RowShelf shelf{clock};
  MemoryRows a{shelf}, b{shelf};
  RowsWorld world{a, b, *LockName::parse("group"), clock};
};

std::string added(const char* text, std::vector<std::int64_t> add) { return added_numbers(text, add); }

}  // namespace

TEST_CASE("rows: the store in memory keeps the contract") {
  for (const RowsCase& one : rows_contract()) {
    INFO(one.name);
    MemoryWorld memory;
    one.run(memory.world);
  }
}

TEST_CASE("rows: numbers are read and added as they are written") {
  CHECK(added("5 0 -2", {}).empty());
  CHECK(added("5 0", {-5, 7}) == "0 7");
  CHECK(added("5 0", {-6, 7}).empty());
  CHECK(added("5 0", {1}).empty());
  CHECK(added("5 x", {1, 1}).empty());
  CHECK(added("9007199254740992", {1}).empty());
  CHECK(added("9007199254740991", {1}) == "9007199254740992");
  CHECK(count_numbers("1 2 3") == 3);
  CHECK(count_numbers("") == 0);
  CHECK(count_numbers("1  2") == 0);
  CHECK(count_numbers("1 ") == 0);
}

TEST_CASE("rows: a call fails before its effect, or after it") {
  MemoryWorld w;
  w.shelf.fault_at = 1;
  CHECK_FALSE(w.a.commit(w.world.group, {put("x", "one")}, w.world.limit()));
  CHECK(w.world.row("x").version == 0);
  w.shelf.fault_at = w.shelf.calls + 1;
  w.shelf.fault = RowShelf::Fault::kAfter;
  CHECK_FALSE(w.a.commit(w.world.group, {put("x", "one")}, w.world.limit()));
  CHECK(w.world.row("x").text == "one");
}

TEST_CASE("rows: commits are made in pieces, and after one without an answer none is begun") {
  const std::vector<Rows::Commit> commits(7);
  std::vector<std::size_t> asked;
  std::size_t fails_at = 0;
  const auto commit_some = [&](std::span<const Rows::Commit> some) -> Result<std::vector<Rows::Number>> {
    asked.push_back(some.size());
    if (asked.size() == fails_at) return Error{ErrorCode::kUnavailable, "gone"};
    return std::vector<Rows::Number>(some.size(), asked.size());
  };
  auto answers = commit_in_pieces(commits, 3, commit_some);
  REQUIRE(answers.size() == 7);
  CHECK(asked == std::vector<std::size_t>{3, 3, 1});
  CHECK(*answers[2] == 1);
  CHECK(*answers[6] == 3);
  asked.clear();
  fails_at = 2;
  answers = commit_in_pieces(commits, 3, commit_some);
  REQUIRE(answers.size() == 7);
  CHECK(asked == std::vector<std::size_t>{3, 3});
  CHECK(answers[2]);
  CHECK_FALSE(answers[3]);
  CHECK_FALSE(answers[6]);
}

}  // namespace dlock::testing::rows_test
