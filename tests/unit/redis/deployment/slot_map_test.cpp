// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/redirect.h"

#include <doctest/doctest.h>

namespace dlock::redis::slot_map_test {
namespace {

const Endpoint kA{"10.0.0.1", 7000, ""};
const Endpoint kB{"10.0.0.2", 7000, ""};
const Endpoint kC{"10.0.0.3", 7000, ""};

SlotMap some_map() {
  SlotMap map;
  map.assign({{0, 99, kA}, {200, 299, kB}, {300, 300, kA}});
  return map;
}

std::string owner_of(const SlotMap& map, std::uint16_t slot) {
  const Endpoint* owner = map.owner(slot);
  return owner == nullptr ? "nobody" : owner->host;
}

}  // namespace

TEST_CASE("a slot belongs to the master of its range") {
  const SlotMap map = some_map();
  CHECK(owner_of(map, 0) == kA.host);
  CHECK(owner_of(map, 99) == kA.host);
  CHECK(owner_of(map, 100) == "nobody");
  CHECK(owner_of(map, 199) == "nobody");
  CHECK(owner_of(map, 200) == kB.host);
  CHECK(owner_of(map, 299) == kB.host);
  CHECK(owner_of(map, 300) == kA.host);
  CHECK(owner_of(map, 301) == "nobody");
  CHECK(map.masters() == std::vector<Endpoint>{kA, kB});
}

TEST_CASE("a slot that moved goes before the map until the map is asked for again") {
  SlotMap map = some_map();
  map.move(200, kC);
  CHECK(owner_of(map, 200) == kC.host);
  CHECK(owner_of(map, 201) == kB.host);
  CHECK(map.masters() == std::vector<Endpoint>{kA, kB, kC});
  map.assign({{0, 16383, kB}});
  CHECK(owner_of(map, 200) == kB.host);
  CHECK(map.masters() == std::vector<Endpoint>{kB});
}

TEST_CASE("an empty map knows nobody") {
  SlotMap map;
  CHECK(map.empty());
  CHECK(owner_of(map, 0) == "nobody");
  map.move(3, kA);
  CHECK_FALSE(map.empty());
}

}  // namespace dlock::redis::slot_map_test
