// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/stock_batch.h"

#include <doctest/doctest.h>

namespace dlock::testing::stock_batch_test {
namespace {

using redis::Command;

const LockName kPhone = *LockName::parse("phone");

StockStep take(const std::string& id, int start, Quantity quantity = 1) {
  return {.id = *LockName::parse(id), .quantity = quantity, .start = start};
}

/// The scripts for `steps`, each as its words after the six keys that all have.
std::vector<std::string> sent(const std::vector<StockStep>& steps) {
  const redis::StockNames names = redis::StockSpace().names(kPhone);
  const auto eval = [](const char*, const std::string&) { return Command{"EVAL", "text", "6"}; };
  std::vector<std::string> all;
  for (const Command& one : redis::StockBatch(kPhone, names, steps, eval).take_scripts()) {
    all.emplace_back();
    for (std::size_t i = 2; i < one.size(); ++i) {
      const bool is_key = one[i].starts_with(names.request);
      all.back() += (i > 2 ? " " : "") + (is_key ? "." + one[i].substr(names.request.size()) : one[i]);
    }
  }
  return all;
}

const std::string kKeepAndId = " 2592000000 " + std::to_string(redis::StockSpace().names(kPhone).request.size() + 1);

}  // namespace

TEST_CASE("a batch of takes in a row says quantity and start once") {
  CHECK(sent({take("a", 7), take("b", 8), take("c", 9)}) ==
        std::vector<std::string>{"9 .a .b .c" + kKeepAndId + " 1 7"});
  CHECK(sent({take("a", 7, 5), take("b", 8, 5)}) == std::vector<std::string>{"8 .a .b" + kKeepAndId + " 5 7"});
}

TEST_CASE("a batch of takes with quantities or starts of their own says each") {
  CHECK(sent({take("a", 7), take("b", 8, 2)}) == std::vector<std::string>{"8 .a .b" + kKeepAndId + " 1 7 2 8"});
  CHECK(sent({take("a", 7), take("b", 7)}) == std::vector<std::string>{"8 .a .b" + kKeepAndId + " 1 7 1 7"});
  CHECK(sent({take("a", 0xffffff), take("b", 0)}) ==
        std::vector<std::string>{"8 .a .b" + kKeepAndId + " 1 16777215 1 0"});
}

TEST_CASE("takes of one request go in scripts that follow each other") {
  const auto scripts = sent({take("a", 1), take("b", 2), take("a", 3), take("c", 4)});
  REQUIRE(scripts.size() == 2);
  CHECK(scripts[0] == "8 .a .b" + kKeepAndId + " 1 1");
  CHECK(scripts[1] == "8 .a .c" + kKeepAndId + " 1 3");
}

}  // namespace dlock::testing::stock_batch_test
