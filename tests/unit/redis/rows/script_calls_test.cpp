// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/rows/script_calls.h"

#include <doctest/doctest.h>

#include <set>

#include "backends/redis/rows/scripts.h"
#include "tests/support/fake_clock.h"

namespace dlock::testing::script_calls_test {
namespace {

using redis::Command;
using redis::Reply;

Reply text(const std::string& words) { return {Reply::Kind::kString, words, 0, {}}; }
Reply error(const std::string& words) { return {Reply::Kind::kError, words, 0, {}}; }

/// Runs what it knows: answers the number of the script, and a hash that is the length of the text.
class ScriptServer final : public redis::Deployment {
 public:
  Result<std::vector<Reply>> call(const std::string&, const std::vector<Command>& commands, TimePoint,
                                  Control*) override {
    std::vector<Reply> replies;
    sent.emplace_back();
    for (const Command& one : commands) {
      sent.back() += (sent.back().empty() ? "" : " ") + one[0];
      replies.push_back(answer(one));
    }
    return replies;
  }
  redis::Connection* current(const std::string&) override { return nullptr; }
  Result<std::vector<redis::Connection*>> all_servers(TimePoint) override { return std::vector<redis::Connection*>(); }

  std::vector<std::string> sent;  ///< the words of one pipeline's commands
  std::set<std::string> known;
  std::set<std::string> refused;  ///< words
  std::string patience;           ///< with replicas, in ms
  int replicas = 0;
  int confirmed = 0;
  int ran = 0;

 private:
  Reply answer(const Command& one) {
    if (refused.contains(one[0])) return error("NOPERM this user has no permissions to run the command");
    if (one[0] == "SCRIPT") return learn(one[2]);
    if (one[0] == "WAIT") return wait(one);
    if (one[0] == "ROLE") return role();
    if (one[0] == "EVALSHA" && !known.contains(one[1])) return error("NOSCRIPT No matching script.");
    return text(std::to_string(++ran));
  }
  Reply wait(const Command& one) {
    patience = one[2];
    return {Reply::Kind::kInteger, "", std::min(confirmed, std::stoi(one[1])), {}};
  }
  Reply role() const {
    Reply list{Reply::Kind::kArray, "", 0, {}};
    list.elements.resize(static_cast<std::size_t>(replicas));
    return {Reply::Kind::kArray, "", 0, {text("master"), {Reply::Kind::kInteger, "", 7, {}}, list}};
  }
  Reply learn(const std::string& script) {
    const std::string hash = std::to_string(script.size());
    known.insert(hash);
    return text(hash);
  }
};

struct World {
  explicit World(const redis::ReplicaDemand& replicas = {})
      : calls(std::unique_ptr<redis::Deployment>(server), "redis://h", replicas, clock) {}

  FakeClock clock;
  ScriptServer* server = new ScriptServer;
  redis::ScriptCalls calls;

  Command script(const char* one) { return calls.script(one); }
  /// The answers, each with a blank behind it; "error" if there are none.
  std::string run(std::vector<const char*> scripts) {
    std::vector<Command> commands;
    for (const char* one : scripts) commands.push_back(script(one));
    const auto replies = calls.exchange("key", std::move(commands), {});
    if (!replies) return "error";
    std::string all;
    for (const Reply& reply : *replies) all += reply.text + " ";
    return all;
  }
};

constexpr const char* kCommit = redis::rows_scripts::kCommit;
constexpr const char* kRead = redis::rows_scripts::kRead;

}  // namespace

TEST_CASE("redis scripts: a script goes as its text, and as its hash once it is used again and again") {
  World w;
  CHECK(w.run({kCommit}) == "1 ");
  CHECK(w.run({kCommit}) == "2 ");
  CHECK(w.run({kCommit, kRead}) == "3 4 ");
  CHECK(w.run({kCommit, kRead}) == "5 6 ");
  CHECK(w.run({kCommit, kRead}) == "7 8 ");
  CHECK(w.server->sent ==
        std::vector<std::string>{"EVAL", "EVAL SCRIPT", "EVALSHA EVAL", "EVALSHA EVAL SCRIPT", "EVALSHA EVALSHA"});
}

TEST_CASE("redis scripts: many of one script in one pipeline ask for its hash once") {
  World w;
  CHECK(w.run({kCommit, kCommit, kCommit}) == "1 2 3 ");
  CHECK(w.run({kCommit, kCommit}) == "4 5 ");
  CHECK(w.server->sent == std::vector<std::string>{"EVAL EVAL EVAL SCRIPT", "EVALSHA EVALSHA"});
}

TEST_CASE(
    "redis scripts: what a server does not know by its hash goes again as text, and what is behind it, in order") {
  World w;
  w.run({kCommit, kCommit});
  REQUIRE(w.run({kCommit}) == "3 ");
  w.server->known.clear();
  w.server->sent.clear();
  CHECK(w.run({kRead, kCommit, kRead, kCommit}) == "4 6 7 8 ");
  CHECK(w.server->sent == std::vector<std::string>{"EVAL EVALSHA EVAL EVALSHA SCRIPT", "EVAL EVAL EVAL"});
  CHECK(w.run({kCommit}) == "9 ");
  CHECK(w.run({kCommit}) == "10 ");
  CHECK(w.server->sent.back() == "EVALSHA");
}

TEST_CASE("redis scripts: a server that tells no hashes, or lets nobody use them, gets text") {
  World w;
  w.server->refused = {"SCRIPT"};
  for (const char* answer : {"1 ", "2 ", "3 "}) CHECK(w.run({kCommit}) == answer);
  CHECK(w.server->sent == std::vector<std::string>{"EVAL", "EVAL SCRIPT", "EVAL"});
  World other;
  other.server->refused = {"EVALSHA"};
  for (const char* answer : {"1 ", "2 ", "3 ", "4 ", "5 "}) CHECK(other.run({kCommit}) == answer);
  CHECK(other.server->sent == std::vector<std::string>{"EVAL", "EVAL SCRIPT", "EVALSHA", "EVAL", "EVAL", "EVAL"});
}

TEST_CASE("redis scripts: replicas are waited for at most half of the time, so that there is some to hear of them") {
  using namespace std::chrono_literals;
  World w(redis::ReplicaDemand{.count = 1});
  const std::pair<Duration, const char*> rows[] = {{5s, "1000"}, {300ms, "150"}, {0ms, "1"}};
  for (const auto& [left, patience] : rows) {
    const auto replies = w.calls.exchange("key", {w.script(kCommit)}, CallLimit{w.clock.now() + left});
    REQUIRE_FALSE(replies);
    CHECK(replies.error().message.find("0 of 1 replica") != std::string::npos);
    CHECK(w.server->patience == patience);
  }
}

TEST_CASE("redis scripts: with wait_replicas=all the replicas are counted first, and a script never runs twice") {
  World w(redis::ReplicaDemand{.all = true});
  w.server->replicas = w.server->confirmed = 2;
  CHECK(w.run({kCommit}) == "1 ");
  CHECK(w.run({kRead}) == "2 ");
  CHECK(w.server->sent == std::vector<std::string>{"ROLE", "EVAL ROLE WAIT", "EVAL ROLE WAIT"});
  w.server->replicas = 3;  // the third one has just come, and has confirmed as well
  w.server->confirmed = 3;
  CHECK(w.run({kRead}) == "error");
  CHECK(w.server->ran == 3);
  CHECK(w.run({kRead}) == "4 ");
  w.server->replicas = w.server->confirmed = 1;  // two have left
  CHECK(w.run({kRead}) == "5 ");
  World refused(redis::ReplicaDemand{.all = true});
  refused.server->refused = {"ROLE"};
  CHECK(refused.run({kCommit}) == "error");
  CHECK(refused.server->ran == 0);
}

}  // namespace dlock::testing::script_calls_test
