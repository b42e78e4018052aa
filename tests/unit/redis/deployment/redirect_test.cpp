// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/redirect.h"

#include <doctest/doctest.h>

namespace dlock::redis::redirect_test {
namespace {

const Endpoint kAsked{"10.0.0.1", 7000, ""};

Reply error_reply(std::string text) { return {Reply::Kind::kError, std::move(text), 0, {}}; }
Reply status(std::string text) { return {Reply::Kind::kStatus, std::move(text), 0, {}}; }
Reply text_reply(std::string text) { return {Reply::Kind::kString, std::move(text), 0, {}}; }
Reply number(std::int64_t value) { return {Reply::Kind::kInteger, "", value, {}}; }
Reply list(std::vector<Reply> elements) { return {Reply::Kind::kArray, "", 0, std::move(elements)}; }
Reply nil() { return {}; }

Reply node(const std::string& host, std::int64_t port) {
  return list({text_reply(host), number(port), text_reply("id"), list({})});
}

const Reply kMoved = error_reply("MOVED 16287 127.0.0.1:17022");
const Reply kAsk = error_reply("ASK 16287 127.0.0.1:17020");
const Command kEval = {"EVAL", "return 1", "0"};

}  // namespace

TEST_CASE("an error of a server is a refusal exactly if nothing was done and somebody may do it") {
  const std::pair<const char*, Refusal> known[] = {
      {"MOVED 16287 127.0.0.1:17022", Refusal::kMoved},
      {"ASK 16287 127.0.0.1:17020", Refusal::kAsk},
      {"TRYAGAIN Multiple keys request during rehashing of slot", Refusal::kLater},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", Refusal::kLater},
      {"READONLY You can't write against a read only replica.", Refusal::kElsewhere},
      {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a "
       "read only replica.",
       Refusal::kElsewhere},
      {"LOADING Redis is loading the dataset in memory", Refusal::kElsewhere},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", Refusal::kElsewhere},
      {"CLUSTERDOWN The cluster is down", Refusal::kElsewhere},
      {"CROSSSLOT Keys in request don't hash to the same slot", Refusal::kNone},
      {"NOSCRIPT No matching script. Please use EVAL.", Refusal::kNone},
      {"OOM command not allowed when used memory > 'maxmemory'.", Refusal::kNone},
      {"NOREPLICAS Not enough good replicas to write.", Refusal::kNone},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", Refusal::kNone},
      {"ASKED something else", Refusal::kNone},
      {"ERR unknown command 'X'", Refusal::kNone},
  };
  for (const auto& one : known) {
    CAPTURE(one.first);
    CHECK(refusal_of(error_reply(one.first)) == one.second);
    CHECK(refusal_of(text_reply(one.first)) == Refusal::kNone);
  }
}

TEST_CASE("MOVED and ASK name a slot and an address") {
  const auto moved = parse_redirect(kMoved, kAsked);
  REQUIRE(moved);
  CHECK(moved->slot == 16287);
  CHECK(moved->to.text() == Endpoint{"127.0.0.1", 17022, ""}.text());
  const auto six = parse_redirect(error_reply("ASK 5 fe80::1:6379"), kAsked);
  REQUIRE(six);
  CHECK(six->to == Endpoint{"fe80::1", 6379, ""});
}

TEST_CASE("a MOVED without a host means the host that was asked") {
  const auto moved = parse_redirect(error_reply("MOVED 1 :7005"), kAsked);
  REQUIRE(moved);
  CHECK(moved->to == Endpoint{"10.0.0.1", 7005, ""});
}

TEST_CASE("what is no redirection, or one to nowhere, is none") {
  for (const char* text :
       {"MOVED", "MOVED 1", "MOVED 1 host", "MOVED x host:1", "MOVED 16384 host:1", "MOVED 1 host:0",
        "MOVED 1 host:70000", "MOVED 1 ?:7000", "MOVED 1 a\x1b[2Jb:7000", "TRYAGAIN later", "ERR MOVED 1 host:1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_redirect(error_reply(text), kAsked));
  }
}

TEST_CASE("a pipeline may be sent again only if nothing of it was done") {
  const Command wait = {"WAIT", "1", "100"};
  CHECK(judge({kEval}, {number(1)}).kind == PipelineOutcome::Kind::kAnswered);
  CHECK(judge({kEval}, {error_reply("ERR wrong")}).kind == PipelineOutcome::Kind::kAnswered);
  CHECK(judge({kEval}, {kMoved}).kind == PipelineOutcome::Kind::kRefused);
  CHECK(judge({kEval, wait}, {kMoved, number(0)}).kind == PipelineOutcome::Kind::kRefused);
  CHECK(judge({kEval, kEval}, {kMoved, kMoved}).kind == PipelineOutcome::Kind::kRefused);
  CHECK(judge({kEval, kEval}, {kAsk, number(1)}).kind == PipelineOutcome::Kind::kPartly);
  CHECK(judge({kEval, kEval}, {number(1), kMoved}).kind == PipelineOutcome::Kind::kPartly);
  CHECK(judge({kEval, kEval}, {kAsk, error_reply("ERR half way through a script")}).kind ==
        PipelineOutcome::Kind::kPartly);
  CHECK(judge({kEval, kEval}, {kMoved, error_reply("NOSCRIPT No matching script.")}).kind ==
        PipelineOutcome::Kind::kRefused);
}

TEST_CASE("a refused transaction has done nothing") {
  const std::vector<Command> transaction = {{"MULTI"}, {"SET", "k", "v"}, {"SET", "l", "v"}, {"EXEC"}};
  const Reply aborted = error_reply("EXECABORT Transaction discarded because of previous errors.");
  const PipelineOutcome outcome = judge(transaction, {status("OK"), status("QUEUED"), kMoved, aborted});
  CHECK(outcome.kind == PipelineOutcome::Kind::kRefused);
  CHECK(outcome.refusal == Refusal::kMoved);
  CHECK(outcome.at == 2);
}

TEST_CASE("ASKING stands before each command, and once before a transaction") {
  const auto [commands, ours] = with_asking({kEval, {"multi"}, {"SET", "k", "v"}, {"EXEC"}, kEval});
  const std::vector<Command> expected = {{"ASKING"},        kEval,    {"ASKING"}, {"multi"},
                                         {"SET", "k", "v"}, {"EXEC"}, {"ASKING"}, kEval};
  CHECK(commands == expected);
  CHECK(ours == std::vector<bool>{false, true, false, true, true, true, false, true});
}

TEST_CASE("CLUSTER SLOTS becomes sorted ranges of masters") {
  const auto ranges =
      parse_cluster_slots(list({list({number(8192), number(16383), node("10.0.0.2", 7001)}),
                                list({number(0), number(8191), node("", 7000), node("10.0.0.9", 7009)})}),
                          kAsked);
  REQUIRE(ranges);
  REQUIRE(ranges->size() == 2);
  CHECK((*ranges)[0].first == 0);
  CHECK((*ranges)[0].last == 8191);
  CHECK((*ranges)[0].master == Endpoint{"10.0.0.1", 7000, ""});
  CHECK((*ranges)[1].master == Endpoint{"10.0.0.2", 7001, ""});
}

TEST_CASE("a node without a name is called by its address") {
  const Reply with_ip =
      list({text_reply("?"), number(7000), text_reply("id"), list({text_reply("ip"), text_reply("10.1.1.1")})});
  const Reply unknown_host = list({nil(), number(7002), text_reply("id")});
  const auto ranges =
      parse_cluster_slots(list({list({number(0), number(1), with_ip}), list({number(2), number(3), node("?", 7001)}),
                                list({number(4), number(5), unknown_host})}),
                          kAsked);
  REQUIRE(ranges);
  REQUIRE(ranges->size() == 2);
  CHECK((*ranges)[0].master == Endpoint{"10.1.1.1", 7000, ""});
  CHECK((*ranges)[1].master == Endpoint{"10.0.0.1", 7002, ""});
}

TEST_CASE("a server that is no cluster's is misconfigured, one without slots may get some") {
  const auto disabled = parse_cluster_slots(error_reply("ERR This instance has cluster support disabled"), kAsked);
  REQUIRE_FALSE(disabled);
  CHECK(disabled.error().code == ErrorCode::kMisconfigured);
  CHECK(parse_cluster_slots(list({}), kAsked).error().code == ErrorCode::kUnavailable);
  CHECK(parse_cluster_slots(list({number(1)}), kAsked).error().code == ErrorCode::kUnavailable);
  CHECK(parse_cluster_slots(error_reply("LOADING Redis is loading"), kAsked).error().code == ErrorCode::kUnavailable);
  CHECK(
      parse_cluster_slots(error_reply("NOPERM this user has no permissions to run the 'cluster|slots' command"), kAsked)
          .error()
          .code == ErrorCode::kDenied);
}

TEST_CASE("a sentinel names the master, or knows none") {
  const auto named = parse_master_address(list({text_reply("127.0.0.1"), text_reply("17011")}), kAsked);
  REQUIRE(named);
  CHECK(*named == Endpoint{"127.0.0.1", 17011, ""});
  const auto unknown = parse_master_address(nil(), kAsked);
  REQUIRE(unknown);
  CHECK_FALSE(unknown->has_value());
}

TEST_CASE("what does not speak as a sentinel is told apart") {
  const auto code = [](const Reply& reply) { return parse_master_address(reply, kAsked).error().code; };
  CHECK(
      code(error_reply("ERR unknown command 'SENTINEL', with args beginning with: 'GET-MASTER-ADDR-BY-NAME' 'mym' ")) ==
      ErrorCode::kMisconfigured);
  CHECK(code(error_reply("ERR unknown command `SENTINEL`, with args beginning with:")) == ErrorCode::kMisconfigured);
  CHECK(code(error_reply("NOAUTH Authentication required.")) == ErrorCode::kDenied);
  CHECK(code(error_reply("LOADING Redis is loading the dataset in memory")) == ErrorCode::kUnavailable);
  CHECK(code(list({text_reply("127.0.0.1"), text_reply("0")})) == ErrorCode::kUnavailable);
  CHECK(code(list({text_reply("127.0.0.1")})) == ErrorCode::kUnavailable);
  CHECK(code(list({text_reply("a\x1b[2Jb"), text_reply("17011")})) == ErrorCode::kUnavailable);
  CHECK(code(list({text_reply(std::string(254, 'h')), text_reply("17011")})) == ErrorCode::kUnavailable);
}

TEST_CASE("a master is fit when ROLE says so and it is not loading") {
  const Reply master = list({text_reply("master"), number(0), list({})});
  const Reply replica = list({text_reply("slave"), text_reply("10.0.0.2"), number(7000)});
  const Reply pong = status("PONG");
  CHECK(check_master(master, pong, kAsked));
  CHECK(check_master(master, error_reply("NOPERM this user has no permissions to run the 'ping' command"), kAsked));
  CHECK_FALSE(check_master(replica, pong, kAsked));
  const auto loading = check_master(master, error_reply("LOADING Redis is loading the dataset in memory"), kAsked);
  REQUIRE_FALSE(loading);
  CHECK(loading.error().code == ErrorCode::kUnavailable);
  const auto denied =
      check_master(error_reply("NOPERM this user has no permissions to run the 'role' command"), pong, kAsked);
  REQUIRE_FALSE(denied);
  CHECK(denied.error().code == ErrorCode::kDenied);
}

}  // namespace dlock::redis::redirect_test
