// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/conformance/stock_fixture.h"
#include "tests/support/rows_contract.h"
#include "tests/support/stores.h"

namespace dlock::testing::rows_test {
namespace {

void run_on(const std::string& url, const RowsCase& one, int number) {
  const auto a = connect_rows(url);
  const auto b = connect_rows(url);
  const auto group = *LockName::parse("rows." + std::to_string(getpid()) + "." + std::to_string(number));
  const RowsWorld world{*a, *b, group, test_clock()};
  one.run(world);
  CHECK(b->commit(group, {clear_group()}, world.limit()));
}

}  // namespace

TEST_CASE("rows: every store keeps the contract") {
  for (const StockFixture& fixture : stock_fixtures()) {
    INFO("store: ", fixture.name);
    int number = 0;
    for (const RowsCase& one : rows_contract()) {
      INFO(one.name);
      run_on(fixture.url, one, ++number);
    }
  }
}

}  // namespace dlock::testing::rows_test
