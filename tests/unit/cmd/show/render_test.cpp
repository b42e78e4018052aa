// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/render.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/human_text.h"
#include "tests/support/command_world.h"

namespace render_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

const WallTime kNow = LeapingClock().wall();

LockState busy_lock() {
  LockState state{.name = lock_name("deploy/prod"), .store = "local:/var/lib/dlock", .holders = {}, .waiters = {}};
  Participant holder;
  holder.owner = "0123456789abcdef0123456789abcdef";
  holder.host = "ci-4";
  holder.pid = 8811;
  holder.command_pid = 8812;
  holder.command = "deploy.sh";
  holder.user = "deploy";
  holder.reason = "rolling out 4.2 to all of the european machines";
  holder.token = FencingToken(1042);
  holder.since = kNow - 41s;
  holder.until = kNow + 12s;
  state.holders = {holder};
  Participant waiter;
  waiter.host = "web-11";
  waiter.pid = 211;
  waiter.user = "www";
  waiter.since = kNow - 5s;
  waiter.mode = Mode::kShared;
  state.waiters = {waiter};
  return state;
}

std::size_t widest(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    widest = std::max(widest, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

}  // namespace

TEST_CASE(
    "a held lock is shown with its holder and its queue in columns, the reason on a line of its own at 80 columns") {
  const std::string text = inspect_text({busy_lock()}, kNow, {.width = 80});
  CHECK(text ==
        "deploy/prod  held, exclusive  local:/var/lib/dlock\n"
        "  holder   deploy@ci-4 (deploy.sh, pid 8812)  for 41 s  token 1042  ends in 12 s\n"
        "           rolling out 4.2 to all of the european machines\n"
        "  waits 1  www@web-11 (pid 211)               for 5 s  shared\n");
  CHECK(widest(text) <= 80);
}

TEST_CASE("what has no room on a line of 80 columns goes on below it") {
  LockState state = busy_lock();
  state.holders[0].command = "nightly-backup-of-everything.sh";
  state.holders[0].token = FencingToken(1795356344441725);
  CHECK(inspect_text({state}, kNow, {.width = 80}) ==
        "deploy/prod  held, exclusive  local:/var/lib/dlock\n"
        "  holder   deploy@ci-4 (nightly-backup-of-everything.sh, pid 8812)  for 41 s\n"
        "           token 1795356344441725  ends in 12 s\n"
        "           rolling out 4.2 to all of the european machines\n"
        "  waits 1  www@web-11 (pid 211)                                     for 5 s\n"
        "           shared\n");
}

TEST_CASE("at 110 columns nothing is wider than the terminal, and without a width everything stands on one line") {
  CHECK(widest(inspect_text({busy_lock()}, kNow, {.width = 110})) <= 110);
  const std::string text = inspect_text({busy_lock()}, kNow, {});
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text.find("ends in 12 s  rolling out 4.2 to all") != std::string::npos);
}

TEST_CASE("40 waiters on 24 lines: the holder stands on top, the first in line below, and how many more at the end") {
  LockState state = busy_lock();
  state.waiters.resize(40, state.waiters.front());
  const std::string text = inspect_text({state}, kNow, {.width = 80, .height = 12});
  CHECK(std::count(text.begin(), text.end(), '\n') == 12);
  CHECK(text.find("\n  holder    deploy@ci-4 (deploy.sh, pid 8812)") != std::string::npos);
  CHECK(text.find("waits 8 ") != std::string::npos);
  CHECK(text.ends_with("\n  32 more\n"));
  CHECK(inspect_text({state}, kNow, {.width = 80}).find("waits 40") != std::string::npos);
  const std::string low = inspect_text({state}, kNow, {.width = 80, .height = 1});
  CHECK(low.find("waits 1 ") != std::string::npos);
  CHECK(low.ends_with("\n  39 more\n"));
}

TEST_CASE("those who are known by their number alone are counted") {
  LockState state = busy_lock();
  state.more_waiters = 5;
  state.more_holders = 2;
  const std::string text = inspect_text({state}, kNow, {});
  CHECK(text.find("\n  2 more\n  waits 1") != std::string::npos);
  CHECK(text.ends_with("\n  5 more\n"));
  CHECK(inspect_json(state, nullptr).find("\"more_waiters\":5") != std::string::npos);
}

TEST_CASE("of a holder is said what is known, in one order") {
  Participant participant;
  CHECK(participant_text(participant) == "somebody");
  participant.owner = "uuid";
  CHECK(participant_text(participant) == "owner uuid");
  participant.pid = 7;
  CHECK(participant_text(participant) == "pid 7");
  participant.user = "www";
  CHECK(participant_text(participant) == "www (pid 7)");
  participant.host = "web-11";
  participant.command = "backup";
  CHECK(participant_text(participant) == "www@web-11 (backup, dlock pid 7)");
  CHECK(short_participant_text(participant) == "web-11 (backup)");
  mark_lease(participant, 0);
  participant.command.clear();
  CHECK(participant_text(participant) == "www@web-11 (lease, no process)");
  CHECK(short_participant_text(participant) == "web-11 (lease, no process)");
}

TEST_CASE("a store without a queue says that nobody knows who waits") {
  LockState state = busy_lock();
  CHECK_FALSE(nlohmann::json::parse(inspect_json(state)).contains("waiters_known"));
  state.waiters.clear();
  state.waiters_known = false;
  CHECK(inspect_text({state}, kNow, {}).ends_with("\n  waiters are not known: this store keeps no queue\n"));
  CHECK(nlohmann::json::parse(inspect_json(state))["waiters_known"] == false);
}

TEST_CASE("without colour no escape sequence is written, whatever others have put in their reasons") {
  LockState state = busy_lock();
  state.holders[0].reason = "\033[2J\xff gone";
  state.holders[0].host = "a\nb";
  const std::string text = inspect_text({state}, kNow, {});
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find("a\xEF\xBF\xBD"
                  "b (deploy.sh, pid 8812)") != std::string::npos);
}

TEST_CASE("in colour the holder is bold and a note yellow") {
  LockState state = busy_lock();
  state.holders[0].note = "stopped";
  const std::string text = inspect_text({state}, kNow, {.colour = true});
  CHECK(text.find("\033[1mdeploy@ci-4 (deploy.sh, pid 8812)\033[0m") != std::string::npos);
  CHECK(text.find("\033[33mstopped\033[0m") != std::string::npos);
}

TEST_CASE("JSON survives quotes, line ends and broken UTF-8 in what others wrote") {
  LockState state = busy_lock();
  state.holders[0].reason = "say \"hi\"\n\x01\xff";
  const auto json = nlohmann::json::parse(inspect_json(state));
  CHECK(json["holders"][0]["reason"] == "say \"hi\"\n\x01\xEF\xBF\xBD");
}

}  // namespace render_test
