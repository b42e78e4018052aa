// SPDX-License-Identifier: Apache-2.0
// What the backend for ZooKeeper decides without a server.
#include <doctest/doctest.h>

#include <limits>

#include "backends/zookeeper/admin.h"
#include "backends/zookeeper/lock/ensemble.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/config/duration_text.h"
#include "lib/lock/lease.h"

namespace dlock::zookeeper::parts_test {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart(1000h);

}  // namespace

TEST_CASE("A session of 3/2 of the ttl leaves the whole ttl, and what a server cuts off is cut off the lease") {
  CHECK(timeout_to_ask(30s, 0s) == 45s);
  CHECK(timeout_to_ask(30s, 10s) == 55s);
  CHECK(lease_within(45s, 30s, 0s) == 30s);
  CHECK(lease_within(60s, 30s, 0s) == 30s);
  CHECK(lease_within(40s, 30s, 10s) == 20s);
  CHECK(lease_within(12s, 30s, 0s) == 8s);
  CHECK(lease_within(4s, 30s, 10s) <= 0s);
}

TEST_CASE("A lock is believed for two thirds of the session, and not beyond what the request before it carries") {
  CHECK(believed_until(kStart + 10s, kStart, 45s, 30s, 0s) == lease_deadline(kStart + 10s, 30s));
  // The request before is 40 s old: the leader may know of nothing later.
  CHECK(believed_until(kStart + 40s, kStart, 45s, 30s, 0s) == lease_deadline(kStart, 45s));
  CHECK(believed_until(kStart, kStart, 45s, 30s, 15s) == lease_deadline(kStart, 20s));
}

TEST_CASE("What a node says of its holder is read back, whatever is in it") {
  HolderRecord data;
  data.owner = "0123456789abcdef0123456789abcdef";
  data.host = "host name";
  data.pid = 42;
  data.user = "me%";
  data.mode = Mode::kPermits;
  data.permits = 5;
  data.lock_delay = 300ms;
  data.reason = "line 1\nwith = and 100 %";
  data.slot = "db2";
  data.command = "100%=x.sh";
  data.lasts = 90s;
  data.token = FencingToken(77);
  const std::string text = encode(data);
  CHECK(text.find('\n') == std::string::npos);
  const auto back = decode_record(text);
  REQUIRE(back);
  CHECK(back->owner == data.owner);
  CHECK(back->host == data.host);
  CHECK(back->pid == data.pid);
  CHECK(back->user == data.user);
  CHECK(back->mode == data.mode);
  CHECK(back->permits == data.permits);
  CHECK(back->lock_delay == data.lock_delay);
  CHECK(back->reason == data.reason);
  CHECK(back->slot == data.slot);
  CHECK(back->command == data.command);
  CHECK(back->lasts == data.lasts);
  CHECK(back->token == data.token);
  CHECK(decode_record("dlock owner=o permits=3 reason=x")->slot.empty());     // of a dlock without slots,
  CHECK(decode_record("dlock owner=o permits=3 reason=x")->command.empty());  // and without commands
  for (const char* foreign : {"", "127.0.0.1", "dlock", "dlock host=x", "__REVOKE__"}) {
    CHECK_FALSE(decode_record(foreign));
  }
  CHECK(asks_to_release("__REVOKE__"));
  CHECK_FALSE(asks_to_release(text));
}

TEST_CASE("What nobody could have asked for is cut, in a node that anybody may have written") {
  const auto less = decode_record("dlock owner=o permits=-1 delay_ms=-5");
  REQUIRE(less);
  CHECK(less->permits == 0);
  CHECK(less->lock_delay == 0ms);
  const auto more = decode_record("dlock owner=o permits=99999999999 delay_ms=9223372036854775807");
  REQUIRE(more);
  CHECK(more->permits == std::numeric_limits<int>::max());
  CHECK(more->lock_delay == kLongestDuration);
}

TEST_CASE("An error that people can do something about has words, not a number") {
  const auto text = [](int code) { return unexpected(Code(code), "zk://h", "does not make /a/b").message; };
  CHECK(text(-108) ==
        "zk://h does not make /a/b: the node above it is a lock of recipe=simple, or another ephemeral one");
  CHECK(text(-119) == "zk://h does not make /a/b: the server is read-only, cut off from the others");
  CHECK(text(-125) == "zk://h does not make /a/b: a quota of that directory, or of one above it, is used up");
  CHECK(text(-127) == "zk://h does not make /a/b: the server is overloaded");
  CHECK(text(-113) == "zk://h does not make /a/b: ZooKeeper's error -113");
  CHECK(unexpected(Code(-108), "zk://h", "x").code == ErrorCode::kUnsupported);
  CHECK(unexpected(Code(-119), "zk://h", "x").code == ErrorCode::kUnavailable);
  CHECK(unexpected(Code(-127), "zk://h", "x").code == ErrorCode::kUnavailable);
}

TEST_CASE("Doctor reads what a server says of itself") {
  const auto srvr =
      parse_answer("Zookeeper version: 3.8.0-1234, built on 2022\nLatency min/avg/max: 0/0.5/3\nMode: follower\n");
  const auto conf =
      parse_answer("tickTime=2000\nsyncLimit=5\nminSessionTimeout=4000\nmaxSessionTimeout=40000\nmaxClientCnxns=60\n");
  const auto findings = judge_server("h:2181", srvr, conf);
  REQUIRE(findings.size() == 4);
  for (const Finding& finding : findings) CHECK(finding.verdict == Finding::Verdict::kOk);
  CHECK(findings[0].what == "h:2181: version 3.8.0");
  CHECK(findings[2].what.find("10000 ms") != std::string::npos);
  CHECK(findings[3].what.find("up to 60 connections") != std::string::npos);
  const auto slow = judge_server("h:2181", srvr, parse_answer("tickTime=2000\nsyncLimit=10\nmaxClientCnxns=0\n"));
  REQUIRE(slow.size() == 3);
  CHECK(slow[2].verdict == Finding::Verdict::kWarn);
  CHECK(slow[2].remedy.find("--ttl of 40 s") != std::string::npos);
  const auto verdict = [](const char* text) { return judge_server("h", parse_answer(text), {}).back().verdict; };
  CHECK(verdict("This ZooKeeper instance is not currently serving requests\n") == Finding::Verdict::kWarn);
  CHECK(verdict("Zookeeper version: 3.8.0\nMode: read-only\n") == Finding::Verdict::kFail);
  CHECK(judge_server("h", parse_answer("Zookeeper version: 3.4.14-x\nMode: leader\n"), {})[0].verdict ==
        Finding::Verdict::kWarn);
  CHECK(judge_sessions("zk://h", 40s).verdict == Finding::Verdict::kOk);
  CHECK(judge_sessions("zk://h", 10s).verdict == Finding::Verdict::kWarn);
}

}  // namespace dlock::zookeeper::parts_test
