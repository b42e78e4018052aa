// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/settings.h"

#include <doctest/doctest.h>

namespace dlock::postgres::settings_test {
namespace {

TEST_CASE("a socket is a file that names its port, or a folder with the port of the URL") {
  struct Case {
    const char* url;
    const char* folder;
    int port;
  };
  for (const Case& c : {Case{"postgres:///db?socket=/run/pg/.s.PGSQL.6543", "/run/pg", 6543},
                        Case{"postgres://localhost:5433/db?socket=/run/pg/.s.PGSQL.6543", "/run/pg", 6543},
                        Case{"postgres:///db?socket=/run/pg", "/run/pg", 5432},
                        Case{"postgres://localhost:5433/db?socket=/run/pg", "/run/pg", 5433}}) {
    CAPTURE(c.url);
    const auto url = BackendUrl::parse(c.url);
    REQUIRE(url);
    const auto read = settings_of(*url);
    REQUIRE(read);
    CHECK(read->servers.front().socket == c.folder);
    CHECK(read->servers.front().port == c.port);
  }
}

}  // namespace
}  // namespace dlock::postgres::settings_test
