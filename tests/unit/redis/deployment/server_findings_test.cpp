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
  const auto info = parse_info("# Server\r\nredis_version:7.0.15\r\n\r\nno colon\r\nrole:master\n");
  CHECK(info.size() == 2);
  CHECK(info.at("redis_version") == "7.0.15");
  CHECK(info.at("role") == "master");
}

TEST_CASE("a server that keeps its locks is fine, one that may lose them is warned of, a replica fails") {
  using Verdict = Finding::Verdict;
  const auto good = judge_info("s", {{"redis_version", "7.0.15"},
                                     {"maxmemory_policy", "noeviction"},
                                     {"aof_enabled", "1"},
                                     {"role", "master"},
                                     {"connected_slaves", "0"}});
  CHECK(good.size() == 4);
  CHECK(count(good, Verdict::kOk) == 4);
  CHECK(count(judge_info("s", {{"maxmemory_policy", "volatile-lru"}}), Verdict::kWarn) == 1);
  CHECK(count(judge_info("s", {{"aof_enabled", "0"}}), Verdict::kWarn) == 1);
  CHECK(count(judge_info("s", {{"redis_version", "5.0.1"}}), Verdict::kWarn) == 1);
  CHECK(count(judge_info("s", {{"role", "slave"}}), Verdict::kFail) == 1);
  CHECK(count(judge_info("s", {{"active_replica", "1"}}), Verdict::kFail) == 1);
  CHECK(judge_info("s", {}).empty());
}

}  // namespace dlock::redis::doctor_test
