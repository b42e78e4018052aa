// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/proxy.h"

#include <doctest/doctest.h>

#include "lib/config/backend_url.h"

namespace verify_proxy_test {

using namespace dlock;

std::string through(const char* url) { return through_proxy(*BackendUrl::parse(url), {5000, 5001}).redacted(); }

TEST_CASE("verify: a URL through the proxy keeps the name that the certificate is of") {
  CHECK(through("zk://a,b/locks") == "zk://127.0.0.1:5000,127.0.0.1:5001/locks");
  CHECK(through_proxy(*BackendUrl::parse("rediss://locks.example"), {5000}).redacted() ==
        "rediss://127.0.0.1:5000?server-name=locks.example");
  CHECK(through_proxy(*BackendUrl::parse("rediss://10.0.0.1?server-name=locks.example"), {5000}).redacted() ==
        "rediss://127.0.0.1:5000?server-name=locks.example");
}

}  // namespace verify_proxy_test
