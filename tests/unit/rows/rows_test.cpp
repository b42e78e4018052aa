// SPDX-License-Identifier: Apache-2.0
#include "lib/rows/rows.h"

#include <doctest/doctest.h>

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

}  // namespace dlock::testing::rows_test
