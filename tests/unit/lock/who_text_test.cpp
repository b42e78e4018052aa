// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/who_text.h"

#include <doctest/doctest.h>

namespace who_text_test {

using namespace dlock;

namespace {

Participant holder_of(std::string_view who) {
  Participant participant;
  participant.token = FencingToken(1);
  add_who(participant, who);
  return participant;
}

}  // namespace

TEST_CASE("a command is called by the last part of its path, in one word") {
  CHECK(command_name("/opt/deploy/deploy.sh") == "deploy.sh");
  CHECK(command_name("make") == "make");
  CHECK(command_name("./my job\t1") == "my_job_1");
  CHECK(command_name(std::string(31, 'x') + "\xc3\xa9") == std::string(31, 'x'));
  CHECK(command_name("/").empty());
}

TEST_CASE("what a holder says of itself is read back") {
  LockSpec spec{.name = *LockName::parse("k"),
                .owner = Owner::random(),
                .wait = {},
                .reason =
                    "a\x1f"
                    "b",
                .ancestor = {}};
  spec.command = "deploy:2.sh";
  const std::string mine = who_text("a b");
  const Participant running = holder_of(with_slot(who_text(spec), "db2"));
  CHECK(running.command == "deploy:2.sh");
  CHECK(running.pid == holder_of(mine).pid);
  CHECK(running.reason == "a b");
  CHECK(running.slot == "db2");
  CHECK_FALSE(running.lease);
  spec.command.clear();
  spec.left_to = 4711;
  const Participant left = holder_of(who_text(spec));
  CHECK(left.lease);
  CHECK(left.pid == 4711);
  CHECK(left.command.empty());
}

TEST_CASE("a record of a process that cannot be names none") {
  for (const char* process : {"-1", "-9223372036854775808:sh", "+7", "sh"})
    CHECK(holder_of("ci-4\x1f" + std::string(process) + "\x1f").pid == 0);
  const Participant lease = holder_of(
      "ci-4\x1f"
      "4711 -7\x1f");
  CHECK(lease.lease);
  CHECK(lease.pid == 0);
}

TEST_CASE("how a command has ended stands where its holder would be asked to end, and asks for nothing") {
  const LockSpec spec{
      .name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "r", .ancestor = {}};
  const std::string asked = with_revocation(who_text(spec), who_replaces("push 2"));
  CHECK(revoked_by(revocation_of(asked)) == "replaced by " + who_asks("push 2"));
  const std::string ended = with_revocation(asked, ran_word("status 3"));
  const Participant ran = holder_of(ended);
  CHECK(ran.ran == "status 3");
  CHECK(ran.revoked.empty());
  CHECK(ran.reason == "r");
  CHECK(runs_nothing(ran));
  CHECK_FALSE(runs_nothing(holder_of(asked)));
  CHECK(revocation_of(ended).empty());
}

TEST_CASE("a record has host, process, user, reason and slot; a lease the process that it is left to") {
  const Participant old = holder_of(
      "ci-4\x1f"
      "8812\x1f"
      "deploy\x1frelease 2.4\x1f"
      "db2");
  CHECK(old.host == "ci-4");
  CHECK(old.pid == 8812);
  CHECK(old.user == "deploy");
  CHECK(old.reason == "release 2.4");
  CHECK(old.slot == "db2");
  CHECK(old.command.empty());
  const Participant lease = holder_of(
      "ci-4\x1f"
      "8812 0\x1f"
      "deploy\x1fnightly");
  CHECK(lease.lease);
  CHECK(lease.pid == 0);
}

TEST_CASE("the ttl of a run stands after its command, and of a lease there is none") {
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "r", .ancestor = {}};
  spec.command = "make";
  spec.ttl = std::chrono::seconds(20);
  CHECK(holder_of(who_text(spec)).ttl == spec.ttl);
  CHECK(holder_of(who_text(spec)).command == "make");
  spec.at_least = std::chrono::minutes(1);
  spec.supersedes = Supersedes::kNewest;
  CHECK(holder_of(who_text(spec)).ttl == spec.ttl);
  CHECK(holder_of(who_text(spec)).at_least == spec.at_least);
  spec.left_to = 0;
  CHECK(holder_of(who_text(spec)).ttl == Duration(0));
  CHECK(holder_of(who_text(spec)).lease);
}

}  // namespace who_text_test
