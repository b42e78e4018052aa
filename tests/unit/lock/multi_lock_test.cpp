// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/multi_lock.h"

#include <doctest/doctest.h>

#include <deque>

namespace multi_lock_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

/// One part that answers what it is told to, and writes down what it was asked.
struct Part final : LockSession {
  Part(std::string name, std::vector<std::string>& diary) : name_(std::move(name)), diary_(diary) {}
  void acquire(TimePoint) override { note("acquire"); }
  void withdraw(TimePoint) override { note("withdraw"), events.push_back(Withdrawn{}); }
  void release(TimePoint) override {
    note("release");
    if (lost_meanwhile) events.push_back(Lost{name_ + " was taken"});
    else if (release_fails) events.push_back(ReleaseUnconfirmed{{ErrorCode::kUnavailable, name_ + " is silent"}});
    else events.push_back(Released{});
  }
  void ask_who() override { note("who"); }
  void add_interest(std::vector<pollfd>&) const override {}
  std::optional<TimePoint> wake_at() const override { return std::nullopt; }
  std::optional<SessionEvent> next_event(TimePoint) override {
    if (events.empty()) return std::nullopt;
    SessionEvent event = std::move(events.front());
    events.pop_front();
    return event;
  }
  Result<void> detach(const DetachSpec&) override { return {}; }
  void note(const char* what) { diary_.push_back(name_ + " " + what); }
  void grant(std::optional<TimePoint> deadline = {}, Duration lease = Duration(0)) {
    events.push_back(Granted{{{*LockName::parse(name_), Owner::random(), FencingToken(1), "fake:"}}, deadline, lease});
  }

  std::deque<SessionEvent> events;
  bool release_fails = false;
  bool lost_meanwhile = false;

 private:
  std::string name_;
  std::vector<std::string>& diary_;
};

struct World {
  std::vector<std::string> diary;
  Part* a;
  Part* b;
  std::unique_ptr<MultiLock> both;

  World() {
    std::vector<std::unique_ptr<LockSession>> parts;
    parts.push_back(std::make_unique<Part>("a", diary));
    parts.push_back(std::make_unique<Part>("b", diary));
    a = static_cast<Part*>(parts[0].get());
    b = static_cast<Part*>(parts[1].get());
    both = std::make_unique<MultiLock>(std::move(parts));
    both->acquire(TimePoint{});
  }
  std::optional<SessionEvent> next() { return both->next_event(TimePoint{}); }
  std::optional<SessionEvent> hold_both(std::optional<TimePoint> of_a = {}, std::optional<TimePoint> of_b = {}) {
    a->grant(of_a);
    CHECK_FALSE(next());
    b->grant(of_b);
    return next();
  }
};

using Diary = std::vector<std::string>;

}  // namespace

TEST_CASE("The lease of several locks is the shortest") {
  World world;
  world.a->grant(TimePoint(9s), 4s);
  CHECK_FALSE(world.next());
  world.b->grant(TimePoint(9s));
  CHECK(std::get<Granted>(*world.next()).lease == 4s);
}

TEST_CASE("Several locks are taken one after the other and granted together") {
  World world;
  CHECK(world.diary == Diary{"a acquire"});
  const auto event = world.hold_both(TimePoint(9s), TimePoint(5s));
  CHECK(world.diary == Diary{"a acquire", "b acquire"});
  REQUIRE(event);
  const auto& granted = std::get<Granted>(*event);
  CHECK(granted.locks.size() == 2);
  CHECK(granted.deadline == TimePoint(5s));
}

TEST_CASE("A renewal moves the deadline of the whole only when it was the earliest") {
  World world;
  world.hold_both(TimePoint(9s), TimePoint(5s));
  world.a->events.push_back(Renewed{TimePoint(20s)});
  CHECK_FALSE(world.next());
  world.b->events.push_back(Renewed{TimePoint(15s)});
  const auto event = world.next();
  REQUIRE(event);
  CHECK(std::get<Renewed>(*event).deadline == TimePoint(15s));
}

TEST_CASE("The loss of the last one is final") {
  World world;
  world.hold_both();
  world.a->events.push_back(Lost{"revoked"});
  world.b->events.push_back(Lost{"revoked too"});
  CHECK_FALSE(std::get<Lost>(*world.next()).final);
  CHECK(std::get<Lost>(*world.next()).final);
}

TEST_CASE("A part whose session is gone leaves the others to be given back, and that is not a confirmed release") {
  World world;
  world.hold_both();
  world.a->events.push_back(SessionGone{"killed"});
  CHECK_FALSE(std::get<SessionGone>(*world.next()).final);
  world.both->release(TimePoint(1s));
  CHECK(std::get<ReleaseUnconfirmed>(*world.next()).error.message == "killed");
  CHECK(world.diary.back() == "b release");
}

TEST_CASE("A part that is asked for is still held") {
  World world;
  world.hold_both();
  world.a->events.push_back(Lost{"somebody asks for it", false});
  CHECK_FALSE(std::get<Lost>(*world.next()).final);
  world.both->release(TimePoint(1s));
  CHECK(std::holds_alternative<Released>(*world.next()));
  CHECK(world.diary == Diary{"a acquire", "b acquire", "a release", "b release"});
}

TEST_CASE("Withdrawing leaves the queue of one and gives the other back") {
  World world;
  world.a->grant();
  CHECK_FALSE(world.next());
  world.both->withdraw(TimePoint(1s));
  const auto event = world.next();
  REQUIRE(event);
  CHECK(std::holds_alternative<Withdrawn>(*event));
  CHECK(world.diary == Diary{"a acquire", "b acquire", "a release", "b withdraw"});
}

TEST_CASE("A release that one of them cannot confirm is not confirmed") {
  World world;
  world.hold_both();
  world.a->release_fails = true;
  world.both->release(TimePoint(1s));
  const auto event = world.next();
  REQUIRE(event);
  CHECK(std::get<ReleaseUnconfirmed>(*event).error.message == "a is silent");
}

}  // namespace multi_lock_test
