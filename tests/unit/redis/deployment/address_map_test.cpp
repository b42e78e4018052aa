// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/deployment.h"

#include <doctest/doctest.h>

#include <string>

namespace address_map_test {

using namespace dlock;
using namespace dlock::redis;

namespace {

std::string place(const char* map, const Endpoint& of) {
  const auto mapped = mapped_endpoint(map, of);
  if (!mapped) return mapped.error().message + "; " + mapped.error().next;
  return *mapped ? (*mapped)->text() : "as it is called";
}

}  // namespace

TEST_CASE("an address-map says where a server is reached, one with a port before one without") {
  const Endpoint node{"10.0.0.1", 7000, ""};
  CHECK(place("", node) == "as it is called");
  CHECK(place("10.0.0.2=h", node) == "as it is called");
  CHECK(place("10.0.0.1:7001=h:1", node) == "as it is called");
  CHECK(place("10.0.0.1=h", node) == "h:7000");
  CHECK(place("10.0.0.1:7000=h:17000", node) == "h:17000");
  CHECK(place("10.0.0.1=a,10.0.0.1:7000=b:1,10.0.0.1=c", node) == "b:1");
  CHECK(place("[::1]:7000=[fe80::2]:1", {"::1", 7000, ""}) == "[fe80::2]:1");
  CHECK(place("[::1]=h", {"::1", 7000, ""}) == "h:7000");
}

TEST_CASE("a map of another form is refused with the part that is wrong, whomever it is about") {
  for (const char* map : {"x=h,10.0.0.1", "x=h,=h", "x=h,a=", "x=h,a:1=b", "x=h,a=b:1", "x=h,a:0=b:1", "x=h,a:b=c:1",
                          "x=h,[::1=b", "x=h,a:99999=b:1", "x=h,a=b=c"}) {
    CAPTURE(map);
    const std::string said = place(map, {"x", 7000, ""});
    CHECK(said.starts_with("address-map has '" + std::string(map + 4) + "' in it; write address-map=NAME:PORT="));
  }
}

}  // namespace address_map_test
