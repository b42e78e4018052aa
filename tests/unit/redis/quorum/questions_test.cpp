// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/quorum/questions.h"

#include <doctest/doctest.h>

#include "backends/redis/deployment/errors.h"
#include "lib/config/duration_text.h"

namespace dlock::redis::questions_test {
namespace {

using namespace std::chrono_literals;

Reply integer(std::int64_t number) { return {Reply::Kind::kInteger, "", number, {}}; }
Reply text(const std::string& what) { return {Reply::Kind::kString, what, 0, {}}; }
Reply array(std::vector<Reply> elements) { return {Reply::Kind::kArray, "", 0, std::move(elements)}; }

Reply ballot(std::int64_t state) {
  return array({integer(state), integer(1700000000000000), integer(2500), text("owner"), integer(42), text("run"),
                integer(7), text("9 8 0 e who")});
}

TEST_CASE("a question names its four keys and sends the lease in milliseconds") {
  const auto names = native_names(*LockName::parse("a {b} c"));
  REQUIRE(names);
  const QuorumQuestion question{*names, QuorumKind::kString, "0123", "4567", "who", 2500ms, true};
  const Command command = take_command(question, WallTime(77us));
  REQUIRE(command.size() == 15);
  CHECK(command[0] == "EVAL");
  CHECK(command[2] == "4");
  CHECK(command[3] == "a {b} c");
  CHECK(command[4] == names->fence);
  CHECK(command[5] == names->holders);
  CHECK(command[6] == names->forced);
  CHECK(command[7] == "1");
  CHECK(command[8] == "0123");
  CHECK(command[9] == "2500");
  CHECK(command[10] == "77");
  CHECK(command[12] == "4567");
  CHECK(command[13] == "who");
}

TEST_CASE("who revokes a lock tells its holder, on the channel that this listens to") {
  const auto names = native_names(*LockName::parse("k"));
  REQUIRE(names);
  const Command command = revoke_command({*names, QuorumKind::kString, "0123", "", "who", {}, false});
  REQUIRE(command.size() == 15);
  CHECK(command[10] == names->wake + "0123");
}

TEST_CASE("every state that a server can answer is understood") {
  CHECK(parse_ballot(ballot(1)).state == Ballot::State::kOurs);
  CHECK(parse_ballot(ballot(0)).state == Ballot::State::kFree);
  CHECK(parse_ballot(ballot(-1)).state == Ballot::State::kOthers);
  CHECK(parse_ballot(ballot(-2)).state == Ballot::State::kOtherKind);
  CHECK(parse_ballot(ballot(-3)).state == Ballot::State::kStartedLately);
  CHECK(parse_ballot(ballot(9)).state == Ballot::State::kFailed);
  const Ballot all = parse_ballot(ballot(-1));
  CHECK(all.server_time == 1700000000000000us);
  CHECK(all.remaining == 2500ms);
  CHECK(all.holder == "owner");
  CHECK(all.counter == 42);
  CHECK(all.run_id == "run");
  CHECK(all.uptime == 7);
  CHECK(all.record == "9 8 0 e who");
}

TEST_CASE("a key without an end has no remaining lease") {
  Reply reply = ballot(-1);
  reply.elements[2].integer = -1;
  CHECK_FALSE(parse_ballot(reply).remaining.has_value());
  reply.elements[2].integer = 10'000'000'000'000;  // another client's, of 317 years
  CHECK(parse_ballot(reply).remaining == kLongestDuration);
}

TEST_CASE("answers of another shape are no votes") {
  CHECK(parse_ballot(Reply{}).state == Ballot::State::kFailed);
  CHECK(parse_ballot(array({})).state == Ballot::State::kFailed);
  CHECK(parse_ballot(text("OK")).state == Ballot::State::kFailed);
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    Reply reply = ballot(1);
    reply.elements[i] = array({});
    CHECK(parse_ballot(reply).state == Ballot::State::kFailed);
    CHECK(parse_ballot(reply).error.code == ErrorCode::kUnavailable);
  }
}

TEST_CASE("a refused right is told from what may pass") {
  const auto code = [](const char* said) { return reply_error({Reply::Kind::kError, said, 0, {}}).code; };
  CHECK(code("NOPERM no permissions") == ErrorCode::kDenied);
  CHECK(code("NOAUTH Authentication required.") == ErrorCode::kDenied);
  CHECK(code("ERR ACL failure in script: User u has no permissions to run the 'hset' command") == ErrorCode::kDenied);
  CHECK(code("LOADING Redis is loading") == ErrorCode::kUnavailable);
  CHECK(code("OOM command not allowed") == ErrorCode::kUnavailable);
  const std::string in_script = ". script: 9f13e8a6a329a6466a2b12ef6a55eae01371ae49, on @user_script:5.";
  const auto said = [&](const char* text) {
    return reply_error({Reply::Kind::kError, text + in_script, 0, {}}).message;
  };
  CHECK(said("OOM command not allowed") == "it is out of memory (maxmemory) and takes nothing new");
  CHECK(said("ERR something else") == "it answered \"ERR something else\"");
  CHECK(said("READONLY You can't write") == "it is a read-only replica: READONLY You can't write");
  CHECK(code("ERR Unknown Redis command called from script") == ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace dlock::redis::questions_test
