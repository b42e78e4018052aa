// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/proxy.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/config/backend_url.h"

namespace verify_proxy_test {

using namespace dlock;

std::string through(const char* url, std::vector<std::string> names = {"a", "b"}) {
  std::vector<ProxiedServer> servers;
  std::vector<std::uint16_t> ports;
  for (std::string& name : names) {
    ports.push_back(static_cast<std::uint16_t>(5000 + ports.size()));
    servers.push_back({std::move(name), {}});
  }
  return through_proxy(*BackendUrl::parse(url), servers, ports).redacted();
}

TEST_CASE("verify: a URL through the proxy keeps the name that the certificate is of") {
  CHECK(through("zk://a,b/locks") == "zk://127.0.0.1:5000,127.0.0.1:5001/locks");
  CHECK(through("rediss://locks.example", {"locks.example"}) == "rediss://127.0.0.1:5000?server-name=locks.example");
  CHECK(through("rediss://10.0.0.1?server-name=locks.example", {"10.0.0.1"}) ==
        "rediss://127.0.0.1:5000?server-name=locks.example");
}

TEST_CASE("verify: where servers name each other each name has a place") {
  CHECK(through("redis+cluster://h:7000", {"h:7000", "10.0.0.1:7000"}) ==
        "redis+cluster://h:7000?address-map=h:7000=127.0.0.1:5000,10.0.0.1:7000=127.0.0.1:5001");
  CHECK(through("redis+sentinel://s/main?address-map=s=t", {"s:26379"}) ==
        "redis+sentinel://s/main?address-map=s:26379=127.0.0.1:5000");
}

}  // namespace verify_proxy_test
