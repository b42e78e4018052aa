// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/deployment.h"

#include <doctest/doctest.h>

namespace deployment_test {

using namespace dlock;
using namespace dlock::redis;

namespace {

ConnectionSettings settings_of(std::string_view text) {
  auto url = BackendUrl::parse(text);
  REQUIRE(url);
  auto settings = connection_settings(*url, {"h", 1, ""});
  REQUIRE(settings);
  return std::move(*settings);
}

}  // namespace

TEST_CASE("the database is the end of the path, or db of a socket") {
  CHECK(settings_of("redis://h").database == 0);
  CHECK(settings_of("redis://h/3").database == 3);
  CHECK(settings_of("redis+sentinel://h/mymaster").database == 0);
  CHECK(settings_of("redis+sentinel://h/mymaster/4").database == 4);
  CHECK(settings_of("redis+unix:///run/r.sock?db=5").database == 5);
  CHECK(settings_of("redis+cluster://h").database == 0);
  CHECK(settings_of("tair://h/6").database == 6);
}

TEST_CASE("user, password and TLS are as in the URL") {
  const ConnectionSettings plain = settings_of("redis://u:p@h");
  CHECK(plain.user == "u");
  CHECK(plain.password == "p");
  CHECK(plain.client_name == "dlock");
  CHECK_FALSE(plain.tls);
  const ConnectionSettings tls = settings_of("rediss://h?ca-file=/ca&cert-file=/c&key-file=/k&server-name=n");
  REQUIRE(tls.tls);
  CHECK(tls.tls->ca_file == "/ca");
  CHECK(tls.tls->cert_file == "/c");
  CHECK(tls.tls->key_file == "/k");
  CHECK(tls.tls->server_name == "n");
  CHECK(settings_of("rediss+cluster://h").tls);
}

TEST_CASE("half a client certificate is refused before a server is asked") {
  for (const auto& half : {std::pair("cert-file=/c", "add key-file"), std::pair("key-file=/k", "add cert-file")}) {
    const std::string given = half.first;
    CAPTURE(given);
    const auto url = BackendUrl::parse("rediss://h?" + given);
    REQUIRE(url);
    const auto settings = connection_settings(*url, {"h", 1, ""});
    REQUIRE_FALSE(settings);
    CHECK(settings.error().code == ErrorCode::kMisconfigured);
    CHECK(settings.error().next == half.second);
  }
}

TEST_CASE("a user without a password is refused, whatever the servers are") {
  for (const char* text :
       {"redis://app@h", "rediss://app@h", "redis+unix://app@/run/r.sock", "redis+sentinel://app@h/m",
        "redis+cluster://app@h", "redlock://app@a,b,c", "tair://app@h"}) {
    CAPTURE(text);
    const auto url = BackendUrl::parse(text);
    REQUIRE(url);
    const auto settings = connection_settings(*url, {"h", 1, ""});
    REQUIRE_FALSE(settings);
    CHECK(settings.error().code == ErrorCode::kMisconfigured);
    CHECK(settings.error().message.find("no password for it") != std::string::npos);
    CHECK(settings.error().next.find("DLOCK_PASSWORD") != std::string::npos);
  }
}

}  // namespace deployment_test
