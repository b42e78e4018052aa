// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/human_text.h"
#include "tests/support/fake_backend.h"

namespace report_test {

using namespace dlock;
using namespace std::chrono_literals;

TEST_CASE("a command that ran is one dlock.report/1 line") {
  const Owner owner = *Owner::parse("0123456789abcdef0123456789abcdef");
  const RunReport report{.exit_code = 3,
                         .signal = {},
                         .waited = 1500us,
                         .held = 41s,
                         .keys = {lock_name("k")},
                         .locks = {{lock_name("k"), owner, FencingToken(17), "local:/d"}},
                         .started = WallTime(),
                         .host = "ci-4",
                         .reason = "",
                         .command = {"make", "-j 2"}};
  CHECK(
      report_line(report) ==
      "{\"schema\":\"dlock.report/1\",\"outcome\":\"ran\",\"exit_code\":3,\"signal\":null,\"waited_ms\":1,\"held_ms\":"
      "41000,\"key\":\"k\",\"token\":17,\"owner\":\"0123456789abcdef0123456789abcdef\",\"store\":\"local:/d\","
      "\"started\":\"" +
          rfc3339(WallTime()) +
          "\",\"host\":\"ci-4\",\"reason\":null,\"command\":[\"make\",\"-j 2\"],\"holder\":null}\n");
}

TEST_CASE("a permit is told with its slot") {
  HeldLock permit{lock_name("k"), Owner::random(), FencingToken(17), "local:/d"};
  permit.slot = "db2";
  RunReport report{.exit_code = 0, .signal = {}, .held = {}, .keys = {lock_name("k")}, .locks = {permit}};
  CHECK(nlohmann::json::parse(report_line(report))["slot"] == "db2");
  const Options options;
  CHECK(granted_text(options, "dlock.acquire/2", report.locks, std::nullopt) == permit.owner.text() + " 17\n");
  Options json;
  json.json = true;
  CHECK(nlohmann::json::parse(granted_text(json, "dlock.acquire/2", report.locks, std::nullopt))["slot"] == "db2");
}

TEST_CASE("with several keys each has an entry, granted or not") {
  Participant holder;
  holder.host = "ci-5";
  holder.reason = "hangs";
  const RunReport report{.outcome = RunReport::Outcome::kBusy,
                         .exit_code = 75,
                         .signal = {},
                         .held = {},
                         .keys = {lock_name("a"), lock_name("b")},
                         .locks = {},
                         .started = {},
                         .host = "ci-4",
                         .reason = "release 2.4",
                         .command = {"true"},
                         .holder = holder};
  const auto json = nlohmann::json::parse(report_line(report));
  CHECK(json["outcome"] == "busy");
  CHECK(json["held_ms"].is_null());
  CHECK(json["token"].is_null());
  REQUIRE(json["locks"].size() == 2);
  CHECK(json["locks"][1]["key"] == "b");
  CHECK(json["locks"][1]["owner"].is_null());
  CHECK(json["reason"] == "release 2.4");
  CHECK(json["holder"]["host"] == "ci-5");
  CHECK(json["holder"]["reason"] == "hangs");
}

}  // namespace report_test
