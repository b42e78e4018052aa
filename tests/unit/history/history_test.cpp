// SPDX-License-Identifier: Apache-2.0
#include "lib/history/history.h"

#include <doctest/doctest.h>

namespace history_test {

using namespace dlock;
using namespace std::chrono_literals;

using End = Episode::End;

constexpr WallTime kThree = WallTime{} + 1770087600s;  // 2026-02-03T03:00:00Z

/// Of process `pid` on host h, `at` after three.
Event at(Duration at, Event::Kind kind, int pid, const char* owner = "") {
  Event event;
  event.kind = kind;
  event.time = kThree + std::chrono::duration_cast<std::chrono::microseconds>(at);
  event.key = "k";
  event.store = "local:/x";
  event.who.host = "h";
  event.who.user = "u";
  event.who.pid = pid;
  event.who.owner = owner;
  return event;
}

Event granted(Duration when, int pid, const char* owner, Duration waited = 0s) {
  Event event = at(when, Event::Kind::kGranted, pid, owner);
  event.waited = waited;
  return event;
}

Event released(Duration when, int pid, const char* owner, Duration held, int exit_code = 0) {
  Event event = at(when, Event::Kind::kReleased, pid, owner);
  event.held = held;
  event.exit_code = exit_code;
  event.outcome = "ran";
  return event;
}

std::vector<Episode> told(const std::vector<Event>& events, Duration now = 24h) {
  History history;
  for (const Event& event : events) history.add(event);
  history.finish(kThree + std::chrono::duration_cast<std::chrono::microseconds>(now));
  return history.episodes();
}

TEST_CASE("a run is one episode: asked, granted, released") {
  const auto episodes =
      told({at(1s, Event::Kind::kWaiting, 1), granted(3s, 1, "a", 3s), released(44s, 1, "a", 41s, 3)});
  REQUIRE(episodes.size() == 1);
  const Episode& one = episodes.front();
  CHECK(one.end == End::kReleased);
  CHECK(one.asked == kThree);
  CHECK(one.granted == kThree + 3s);
  CHECK(one.ended == kThree + 44s);
  CHECK(one.waited == 3s);
  CHECK(one.held == 41s);
  CHECK(one.exit_code == 3);
}

TEST_CASE("a loss is red from the moment of the loss until the command is gone, and knows who was killed") {
  Event lost = at(10s, Event::Kind::kLost, 1, "a");
  lost.held = 10s;
  lost.why = "no renewal";
  Event killed = at(15s, Event::Kind::kSignalled, 1, "a");
  killed.held = 15s;
  killed.signal = 9;
  Event ended = at(16s, Event::Kind::kEnded, 1, "a");
  ended.held = 16s;
  ended.signal = 9;
  ended.outcome = "lost";
  const auto episodes = told({granted(0s, 1, "a"), lost, killed, ended});
  REQUIRE(episodes.size() == 1);
  CHECK(episodes[0].end == End::kLost);
  CHECK(episodes[0].lost_at == kThree + 10s);
  CHECK(episodes[0].ended == kThree + 16s);
  CHECK(episodes[0].held == 10s);
  REQUIRE(episodes[0].signals.size() == 1);
  CHECK(episodes[0].signals[0].at == kThree + 15s);
}

TEST_CASE("what was freed by force is lost, also when its holder could not say so") {
  Event freed = at(20s, Event::Kind::kForceReleased, 9, "a");
  freed.who.reason = "hangs";
  freed.holder.emplace().host = "dead";
  const auto alone = told({granted(0s, 1, "a"), freed});
  CHECK(alone.front().end == End::kLost);
  CHECK(alone.front().ended == kThree + 20s);
  CHECK(alone.front().why == "force-released by u@h: hangs");

  freed.holder->since = kThree + 5s;
  const auto unknown = told({freed});  // granted before this file began
  CHECK(unknown.front().who.host == "dead");
  CHECK(unknown.front().granted == kThree + 5s);
}

TEST_CASE("waits that are given up, each in its way; two waits of one process are two") {
  Event busy = at(5s, Event::Kind::kBusy, 1);
  busy.waited = 5s;
  busy.holder.emplace().host = "ci-4";
  Event ended = at(6s, Event::Kind::kWithdrawn, 1);
  ended.waited = 1s;
  ended.signal = 15;
  const auto episodes = told({at(1s, Event::Kind::kWaiting, 1), busy, ended, at(9s, Event::Kind::kWaiting, 2)});
  REQUIRE(episodes.size() == 3);
  CHECK(episodes[0].end == End::kBusy);
  CHECK(episodes[0].holder->host == "ci-4");
  CHECK(episodes[1].end == End::kWithdrawn);
  CHECK(episodes[1].asked == kThree + 5s);
  CHECK(episodes[2].end == End::kWaiting);
}

TEST_CASE("a lease ends with its release, from whichever process, with its last renewal, or with its ttl") {
  Event lease = granted(0s, 1, "a");
  lease.who.lease = true;
  lease.until = kThree + 60s;
  Event renewed = at(30s, Event::Kind::kRenewed, 2, "a");
  renewed.until = kThree + 90s;
  Event released = at(40s, Event::Kind::kReleased, 3, "a");
  CHECK(told({lease}, 59s).front().end == End::kHeld);
  CHECK(told({lease}, 60s).front().end == End::kExpired);
  CHECK(told({lease}, 60s).front().held == 60s);
  CHECK(told({lease, renewed}, 70s).front().end == End::kHeld);
  CHECK(told({lease, renewed}, 100s).front().held == 90s);
  const auto given_back = told({lease, renewed, released}, 100s);
  CHECK(given_back.front().end == End::kReleased);
  CHECK(given_back.front().held == 40s);
}

TEST_CASE(
    "the rest of --at-least that is released, or freed by force, ends earlier, and how the run ended stays known") {
  for (const auto kind : {Event::Kind::kReleased, Event::Kind::kForceReleased}) {
    Event end = released(2s, 1, "a", 2s, 3);
    end.until = kThree + 60s;
    Event rest = at(40s, kind, 2, "a");
    rest.who.lease = true;
    const auto episodes = told({granted(0s, 1, "a"), end, rest});
    REQUIRE(episodes.size() == 1);
    const Episode& one = episodes.front();
    CHECK(one.end == End::kReleased);
    CHECK(one.ended == kThree + 2s);
    CHECK(one.held == 2s);
    CHECK(one.exit_code == 3);
    CHECK(one.outcome == "ran");
    CHECK(one.kept == kThree + 40s);
  }
}

TEST_CASE(
    "a slot that is forgotten is no hold, and no end of the run that it tells of; the slot of a lease is a part of "
    "it") {
  Event forgotten = at(90s, Event::Kind::kReleased, 3, "a");
  forgotten.who.lease = true;
  forgotten.who.slot = "2026-02-03";
  CHECK(told({forgotten}).empty());
  const auto run = told({granted(0s, 1, "a"), released(2s, 1, "a", 2s, 3), forgotten});
  REQUIRE(run.size() == 1);
  CHECK(run.front().exit_code == 3);
  CHECK(run.front().held == 2s);
  Event lease = granted(0s, 1, "b");
  lease.who.lease = true;
  lease.who.slot = "db1";
  lease.until = kThree + 60s;
  Event given_back = at(40s, Event::Kind::kReleased, 1, "b");
  given_back.who.lease = true;
  given_back.who.slot = "db1";
  CHECK(told({lease, given_back}).front().end == End::kReleased);
  CHECK(told({lease, given_back}).front().held == 40s);
}

TEST_CASE("whoever died without a word had ended when the next one was granted the lock, unless they shared it") {
  auto episodes = told({granted(0s, 1, "a"), granted(50s, 2, "b")});
  CHECK(episodes[0].end == End::kUnseen);
  CHECK(episodes[0].ended == kThree + 50s);
  CHECK_FALSE(episodes[0].held);
  CHECK(episodes[1].end == End::kHeld);
  Event one = granted(0s, 1, "a");
  one.who.mode = Mode::kShared;
  Event other = granted(1s, 2, "b");
  other.who.mode = Mode::kShared;
  episodes = told({one, other});
  CHECK(episodes[0].end == End::kHeld);
}

TEST_CASE("a run inside a run is its outer one") {
  Event inner = granted(1s, 2, "a");
  inner.reentered = true;
  Event inner_end = released(2s, 2, "a", 1s);
  inner_end.reentered = true;
  const auto episodes = told({granted(0s, 1, "a"), inner, inner_end, released(9s, 1, "a", 9s)});
  REQUIRE(episodes.size() == 1);
  CHECK(episodes.front().held == 9s);
}

TEST_CASE("a clock that steps back is counted, and lengths come from the clock that does not") {
  History history;
  history.add(granted(1h, 1, "a"));
  history.add(released(0s, 1, "a", 30s));
  history.finish(kThree + 24h);
  CHECK(history.clock_steps() == 1);
  CHECK(history.episodes().front().held == 30s);
  CHECK(history.episodes().front().ended == kThree + 1h + 30s);
  History steady;
  steady.add(granted(1s, 1, "a"));
  steady.add(granted(0s, 2, "b"));  // two processes write nearly at once
  CHECK(steady.clock_steps() == 0);
}

TEST_CASE("torn and foreign lines are counted, and the rest is told") {
  History history;
  std::string line = event_line(granted(0s, 1, "a"));
  line.pop_back();
  for (const std::string& one : {line, line.substr(0, 60), line.substr(0, 60) + event_line(granted(1s, 2, "b")),
                                 std::string("hello"), std::string()})
    history.add_line(one);
  CHECK(history.torn() == 2);
  CHECK(history.foreign() == 1);
  CHECK(history.episodes().size() == 2);
}

TEST_CASE("percentiles are nearest ranks") {
  std::vector<Duration> values;
  CHECK_FALSE(percentile(values, 50));
  for (int i = 1; i <= 20; ++i) values.push_back(i * 1s);
  CHECK(percentile(values, 50) == 10s);
  CHECK(percentile(values, 95) == 19s);
  CHECK(percentile(values, 100) == 20s);
  CHECK(percentile({7s}, 95) == 7s);
}

TEST_CASE("a key of another store is another lock") {
  Event there = granted(5s, 2, "b");
  there.store = "redis://locks.example";
  const auto totals = totals_of(told({granted(0s, 1, "a"), there}));
  REQUIRE(totals.size() == 2);
  CHECK(totals.at({"k", "redis://locks.example"}).grants == 1);
}

TEST_CASE("totals count grants, busy attempts and losses, and find the longest hold") {
  Event busy = at(100s, Event::Kind::kBusy, 3);
  const auto totals = totals_of(told(
      {granted(0s, 1, "a"), released(9s, 1, "a", 9s), granted(20s, 2, "b", 4s), released(50s, 2, "b", 30s), busy}));
  const Totals& k = totals.at({"k", "local:/x"});
  CHECK(k.grants == 2);
  CHECK(k.busy == 1);
  CHECK(k.lost == 0);
  CHECK(k.longest.held == 30s);
  CHECK(k.longest.who.pid == 2);
  CHECK(k.waits == std::vector<Duration>{0s, 4s});
  CHECK(k.last_success == kThree + 50s);
}

TEST_CASE("a command that was ended, because of a loss or of --max-hold, is no success, whatever its status") {
  for (const char* outcome : {"lost", "overheld"}) {
    Event ended = released(50s, 2, "b", 30s);
    ended.outcome = outcome;
    const auto totals =
        totals_of(told({granted(0s, 1, "a"), released(9s, 1, "a", 9s), granted(20s, 2, "b", 4s), ended}));
    CHECK(totals.at({"k", "local:/x"}).last_success == kThree + 9s);
  }
}

}  // namespace history_test
