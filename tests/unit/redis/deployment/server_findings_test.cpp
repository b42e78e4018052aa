// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/server_findings.h"

#include <doctest/doctest.h>

namespace dlock::redis::doctor_test {
namespace {

/// How many findings have this verdict.
int count(const std::vector<Finding>& findings, Finding::Verdict verdict) {
  int n = 0;
  for (const Finding& finding : findings) n += finding.verdict == verdict;
  return n;
}

}  // namespace

TEST_CASE("INFO is read line by line, headings and nonsense passed over") {
  const ServerInfo info("# Server\r\nredis_version:7.0.15\r\n\r\nno colon\r\nrole:master\nmaxmemory:12\n");
  CHECK(info.text("redis_version") == "7.0.15");
  CHECK(info.text("role") == "master");
  CHECK(info.text("no colon").empty());
  CHECK(info.number("maxmemory") == 12);
  CHECK(info.number("role") == 0);
}

TEST_CASE("a server that keeps its locks is fine, one that may lose them is warned of, a replica fails") {
  using Verdict = Finding::Verdict;
  const auto judged = [](std::string_view info) { return judge_info("s", ServerInfo(info)); };
  const auto good =
      judged("redis_version:7.0.15\nmaxmemory_policy:noeviction\naof_enabled:1\nrole:master\nconnected_slaves:0\n");
  CHECK(good.size() == 4);
  CHECK(count(good, Verdict::kOk) == 4);
  CHECK(count(judged("maxmemory_policy:volatile-lru"), Verdict::kWarn) == 1);
  CHECK(count(judged("aof_enabled:0"), Verdict::kWarn) == 1);
  CHECK(count(judged("redis_version:5.0.1"), Verdict::kWarn) == 1);
  CHECK(count(judged("role:slave"), Verdict::kFail) == 1);
  CHECK(count(judged("active_replica:1"), Verdict::kFail) == 1);
  CHECK(judged("").empty());
}

}  // namespace dlock::redis::doctor_test
