// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/acquisition.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/unique_fd.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace dlock::acquisition_test {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::ScriptedControl;

/// A lock of somebody else, until `free_at`, on a server that is out between `out_from` and `out_until`. Who waits for
/// it is told when it is free, if the server is there then.
struct ScriptedLock final : Acquirer {
  ScriptedLock(FakeClock& fake, const LockSpec& wanted) : clock(fake), spec(wanted) {}

  Attempt attempt(TimePoint until, Control& /*control*/) override {
    tried_at.push_back(since(clock.now()));
    if (clock.now() >= reads_from && clock.now() < reads_until) acquisition->patience().heard();
    if (is_out()) {
      const bool is_cut_short = clock.now() >= hangs_from;
      if (hangs || is_cut_short) clock.advance(until - clock.now());
      return Failed{is_cut_short ? Error{ErrorCode::kUnavailable, "no answer in time"} : failure, answers};
    }
    if (clock.now() >= free_at) return Granted{{HeldLock{spec.name, spec.owner, FencingToken(7), "store"}}, {}};
    return Busy{foreign};
  }

  bool wait(std::optional<TimePoint> until, Control& control) override {
    waits.push_back(until ? std::optional(since(*until)) : std::nullopt);
    const auto sleep = [&](std::optional<TimePoint> end) {
      std::vector<pollfd> fds;
      clock.wait(fds, earlier(end, free_at > clock.now() ? std::optional(free_at) : std::nullopt));
    };
    if (!acquisition->patience().queues()) {
      acquisition->pause(until, control);
      return true;
    }
    return acquisition->wait_on({[&] { return clock.now() >= free_at; }, sleep}, until, control);
  }

  Result<LockState> describe(Control& /*control*/) override {
    described_at.push_back(since(clock.now()));
    clock.advance(describing_takes);
    if (is_out() || clock.now() < describable_from) return failure;
    Participant holder;
    holder.owner = "somebody";
    if (is_data) {
      holder.standing = Standing::kForeignData;
      holder.note = "a list";
    }
    Participant we;
    we.owner = spec.owner.text();
    Participant another;
    another.owner = "another";
    return LockState{spec.name, "store", Mode::kExclusive, 0, {holder}, {another, we}};
  }

  void withdraw() override { ++given_up; }

  static Duration since(TimePoint when) { return when - FakeClock::start(); }
  bool is_out() const { return clock.now() >= out_from && clock.now() < out_until; }

  FakeClock& clock;
  const LockSpec& spec;
  Acquisition* acquisition = nullptr;
  TimePoint free_at = FakeClock::start() + 24h;
  TimePoint out_from = FakeClock::start() + 48h;
  TimePoint out_until = FakeClock::start() + 96h;
  Duration describing_takes{0};
  TimePoint describable_from{};                     ///< who has it cannot be asked before, though the wait goes on
  TimePoint reads_from = FakeClock::start() + 48h;  ///< questions are answered though attempts are not
  TimePoint reads_until = FakeClock::start() + 96h;
  bool hangs = false;  ///< instead of refusing connections
  TimePoint hangs_from = FakeClock::start() + 48h;
  bool answers = false;
  bool foreign = false;  ///< dlock did not write what is there
  bool is_data = false;  ///< nor is it a lock
  Error failure{ErrorCode::kUnavailable, "no answer", ""};
  std::vector<Duration> tried_at;
  std::vector<std::optional<Duration>> waits;
  std::vector<Duration> described_at;
  int given_up = 0;
};

struct World {
  World() { spec.wait.connect_timeout = 5s; }

  std::optional<std::variant<Granted, Refused>> run() {
    acquisition.emplace(spec, Runtime{clock, log}, lock);
    lock.acquisition = &*acquisition;
    return acquisition->run(control);
  }
  bool is_granted() {
    const auto answer = run();
    return answer && std::holds_alternative<Granted>(*answer);
  }
  Refused refused() {
    const auto answer = run();
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    return std::get<Refused>(*answer);
  }
  void is_out(Duration from, Duration until) {
    lock.out_from = at(from);
    lock.out_until = at(until);
  }
  TimePoint at(Duration since) const { return FakeClock::start() + since; }
  std::string said() const {
    std::string text(4096, '\0');
    const ssize_t size = pread(stderr_like.get(), text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  FakeClock clock;
  UniqueFd stderr_like{memfd_create("said", MFD_CLOEXEC)};
  Log log{Log::Style{.verbose = true}, stderr_like.get()};
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  ScriptedControl control{clock};
  ScriptedLock lock{clock, spec};
  std::optional<Acquisition> acquisition;
};

/// What was told of outages: "unreached: WHY", "reached".
std::vector<std::string> told_of_outages(const std::vector<SessionEvent>& told) {
  std::vector<std::string> words;
  for (const SessionEvent& event : told) {
    if (const auto* unreached = std::get_if<Unreached>(&event)) words.push_back("unreached: " + unreached->why);
    if (std::holds_alternative<Reached>(event)) words.emplace_back("reached");
  }
  return words;
}

TEST_CASE(
    "a holder that the store does not ask for us ends the wait with the reason, and no later than the wait ends") {
  struct Case {
    const char* what;
    ErrorCode code;
    bool hangs;
    std::optional<Duration> wait;
    ErrorCode status;
    Duration ends_at;
  };
  for (const Case& c : {Case{"no right to", ErrorCode::kDenied, false, {}, ErrorCode::kDenied, 0s},
                        Case{"cannot be asked", ErrorCode::kUnsupported, false, {}, ErrorCode::kUnsupported, 1s},
                        Case{"the same, shortly", ErrorCode::kUnsupported, false, 1s, ErrorCode::kUnsupported, 1s},
                        Case{"refused for now", ErrorCode::kUnavailable, false, {}, ErrorCode::kUnavailable, 5s},
                        Case{"the same, shortly", ErrorCode::kUnavailable, false, 3s, ErrorCode::kUnavailable, 3s},
                        Case{"no answer", ErrorCode::kUnavailable, true, 3s, ErrorCode::kUnavailable, 3s},
                        Case{"the same, for ever", ErrorCode::kUnavailable, true, {}, ErrorCode::kUnavailable, 10s}}) {
    CAPTURE(c.what);
    World world;
    world.spec.supersedes = Supersedes::kReplace;
    if (c.wait) world.spec.wait.until = world.at(*c.wait);
    world.control.asked = Error{c.code, "the reason"};
    world.control.asking_hangs = c.hangs;
    const Refused refused = world.refused();
    CHECK(refused.error.code == c.status);
    CHECK(refused.error.message == "the reason");
    CHECK(world.clock.since_start() == c.ends_at);
    CHECK(world.lock.given_up == 1);
  }
}

TEST_CASE("what is no lock is not waited for, and is refused for good; what is foreign is looked at once") {
  for (const bool once : {true, false}) {
    World world;
    world.spec.wait.once = once;
    world.lock.foreign = world.lock.is_data = true;
    const Refused refused = world.refused();
    CHECK(refused.error.code == ErrorCode::kMisconfigured);
    CHECK(refused.error.message.ends_with("holds data, not a lock of a known kind: a list"));
    CHECK(refused.error.next == "choose another key");
    CHECK(!refused.state);
    CHECK(world.lock.waits.empty());
    CHECK(world.lock.given_up == 1);
  }
  World world;
  world.lock.foreign = true;
  world.lock.free_at = world.at(10s);
  CHECK(world.is_granted());
  CHECK(world.lock.described_at == std::vector<Duration>{0s});
}

TEST_CASE("a free lock is had at the first attempt, and nothing is given back") {
  World world;
  world.lock.free_at = world.at(0s);
  CHECK(world.is_granted());
  CHECK(world.lock.tried_at.size() == 1);
  CHECK(world.lock.given_up == 0);
}

TEST_CASE("one attempt means at once, whether the lock is busy or the server is out") {
  World world;
  world.spec.wait.once = true;
  SUBCASE("busy") { CHECK(world.refused().error.code == ErrorCode::kBusy); }
  SUBCASE("out") {
    world.is_out(0s, 1h);
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
  }
  CHECK(world.lock.tried_at == std::vector<Duration>{0s});
  CHECK(world.lock.given_up == 1);
  CHECK(world.clock.since_start() == 0s);
}

TEST_CASE("who waits sleeps until it is told, and for as long as was said") {
  World world;
  SUBCASE("for ever") {
    world.lock.free_at = world.at(10h);
    CHECK(world.is_granted());
    CHECK(world.lock.tried_at == std::vector<Duration>{0s, 10h});
    CHECK(world.lock.waits == std::vector<std::optional<Duration>>{std::nullopt});
  }
  SUBCASE("for a minute") {
    world.spec.wait.until = world.at(1min);
    CHECK(world.refused().error.code == ErrorCode::kBusy);
    CHECK(world.lock.tried_at == std::vector<Duration>{0s});
    CHECK(world.lock.waits == std::vector<std::optional<Duration>>{1min});
    CHECK(world.clock.since_start() == 1min);
    CHECK(world.lock.given_up == 1);
  }
}

TEST_CASE("counted tries are made, with their pauses, and no more of them") {
  World world;
  world.spec.wait.tries = 3;
  world.spec.wait.retry_interval = 2s;
  CHECK(world.refused().error.code == ErrorCode::kBusy);
  CHECK(world.lock.tried_at == std::vector<Duration>{0s, 2s, 4s});
}

TEST_CASE("whoever was busy is told, with the holder and those that wait, but for ourselves") {
  World world;
  world.spec.wait.once = true;
  const Refused refused = world.refused();
  CHECK(refused.error.message == "k is already held");
  REQUIRE(refused.state);
  CHECK(refused.state->holders.at(0).owner == "somebody");
  REQUIRE(refused.state->waiters.size() == 1);
  CHECK(refused.state->waiters[0].owner == "another");
}

TEST_CASE("an outage ends the first contact after connect-timeout, and a wait after the wait") {
  struct Case {
    const char* what;
    Duration from;
    Duration until;
    std::optional<Duration> wait;
    bool hangs;
    bool granted;
    Duration ends_at;  ///< within the next half second
  };
  for (const Case& c :
       {Case{"nobody is there", 0s, 1h, {}, false, false, 5s}, Case{"nobody answers", 0s, 1h, {}, true, false, 5s},
        Case{"it comes up", 0s, 3s, {}, false, true, 100s},
        Case{"a waiter survives an outage shorter than its wait", 90s, 160s, 200s, false, true, 160s},
        Case{"a waiter without a limit survives any", 90s, 10h, {}, true, true, 10h},
        Case{"a waiter whose wait ends in the outage", 90s, 10h, 200s, false, false, 200s},
        Case{"the same, and it hangs", 90s, 10h, 200s, true, false, 200s}}) {
    CAPTURE(c.what);
    World world;
    if (c.wait) world.spec.wait.until = world.at(*c.wait);
    world.lock.free_at = world.at(100s);
    world.lock.hangs = c.hangs;
    world.is_out(c.from, c.until);
    const auto answer = world.run();
    REQUIRE(answer);
    CHECK(std::holds_alternative<Granted>(*answer) == c.granted);
    if (!c.granted) CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() >= c.ends_at);
    CHECK(world.clock.since_start() < c.ends_at + (c.granted && c.hangs ? 5500ms : 500ms));
    CHECK(world.lock.given_up == (c.granted ? 0 : 1));
  }
}

TEST_CASE("a dead server is asked 12 to 25 times a second at first, and 4 to 8 times in a long outage") {
  World world;
  world.lock.free_at = world.at(100s);
  world.is_out(90s, 1000s);
  world.spec.wait.until = world.at(200s);
  (void)world.refused();
  int early = 0;
  int late = 0;
  for (const Duration tried : world.lock.tried_at) {
    if (tried >= 100s && tried < 105s) ++early;
    if (tried >= 106s && tried < 116s) ++late;
  }
  CHECK(early >= 60);
  CHECK(early <= 126);
  CHECK(late >= 39);
  CHECK(late <= 81);
}

TEST_CASE("an answer that may pass is asked again for connect-timeout only; one that will not is final") {
  World world;
  world.lock.free_at = world.at(100s);
  world.lock.answers = true;
  world.is_out(90s, 10h);
  SUBCASE("too few replicas") {
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() >= 105s);
    CHECK(world.clock.since_start() < 106s);
  }
  SUBCASE("too few replicas, known to have done nothing") {
    world.lock.answers = false;
    world.lock.failure.undone = true;
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.clock.since_start() < 106s);
  }
  SUBCASE("no right to") {
    world.lock.failure = {ErrorCode::kDenied, "NOAUTH", ""};
    CHECK(world.refused().error.code == ErrorCode::kDenied);
    CHECK(world.clock.since_start() == 100s);
  }
  CHECK(world.lock.given_up == 1);
}

TEST_CASE("a store that answers questions and takes no lock is told as an outage, and has an end") {
  World world;
  const std::vector<std::string> told{"unreached: no answer"};
  SUBCASE("from the first contact on") {
    world.lock.reads_from = world.at(0s);
    world.is_out(0s, 10h);
    CHECK(world.refused().error.message == "no answer");
    CHECK(world.clock.since_start() < 5500ms);
  }
  SUBCASE("between two attempts") {
    world.lock.free_at = world.at(100s);
    world.lock.reads_from = world.at(0s);
    world.is_out(90s, 10h);
    CHECK(world.refused().error.message == "no answer");
    CHECK(world.clock.since_start() >= 105s);
    CHECK(world.clock.since_start() < 106s);
    CHECK(told_of_outages(world.control.told) == told);
  }
  SUBCASE("but one that was cut off after a question is waited for") {
    world.lock.free_at = world.at(100s);
    world.lock.reads_from = world.at(0s);
    world.lock.reads_until = world.at(103s);
    world.is_out(90s, 200s);
    CHECK(world.is_granted());
  }
}

TEST_CASE("the reason of an outage is that of the last attempt that its end did not cut short") {
  World world;
  world.is_out(0s, 24h);
  world.lock.hangs_from = world.at(4s);
  CHECK(world.refused().error.message == "no answer");
  world.lock.hangs_from = world.at(0s);
  CHECK(world.refused().error.message == "no answer in time");
}

TEST_CASE("a withdraw ends everything at once, gives back what there is, and is no answer") {
  World world;
  SUBCASE("while it waits") { world.control.stop_at = world.at(30s); }
  SUBCASE("while the server is out") {
    world.control.stop_at = world.at(101s);
    world.lock.free_at = world.at(100s);
    world.is_out(90s, 1h);
  }
  SUBCASE("between counted tries") {
    world.control.stop_at = world.at(30s);
    world.spec.wait.tries = 100;
    world.spec.wait.retry_interval = 20s;
  }
  SUBCASE("at the moment of the grant") {
    world.control.stop_at = world.at(100s);
    world.lock.free_at = world.at(100s);
  }
  world.clock.next_happening = [&] { return world.control.stop_at; };
  CHECK_FALSE(world.run());
  CHECK(world.clock.now() == *world.control.stop_at);
  CHECK(world.lock.given_up == 1);
}

TEST_CASE("what records a slot is not taken back: it may be there, and then it has run") {
  for (const bool takes : {true, false}) {
    World world;
    world.spec.name = *LockName::of_slot(*LockName::parse("k"), "s");
    world.spec.take = takes;
    world.spec.wait.tries = 1;
    world.is_out(0s, 1h);
    CHECK(world.refused().error.code == ErrorCode::kUnavailable);
    CHECK(world.lock.given_up == (takes ? 0 : 1));
  }
}

TEST_CASE("who is waited for is told while we wait, and in an outage as soon as it is over") {
  World world;
  world.spec.wait.until = world.at(200s);
  world.control.who = true;
  Duration told_at = 0s;
  SUBCASE("at once") {}
  SUBCASE("after an outage") {
    world.is_out(0s, 3s);
    told_at = 3s;
  }
  (void)world.refused();
  REQUIRE(world.control.told.size() == 1);
  CHECK(std::get<Waiting>(world.control.told[0]).state.holders.at(0).owner == "somebody");
  CHECK(world.lock.described_at.front() >= told_at);
  CHECK(world.lock.described_at.front() < told_at + 500ms);
}

TEST_CASE("a turn that comes while it is asked who has the lock is taken") {
  World world;
  world.spec.wait.until = world.at(100s);
  world.control.who = true;
  world.lock.free_at = world.at(1s);
  world.lock.describing_takes = 2s;
  CHECK(world.is_granted());
  CHECK(world.lock.tried_at == std::vector<Duration>{0s, 2s});
}

TEST_CASE("who waits is told once that nobody can be asked, and why, and once that the outage is over") {
  const std::vector<std::string> nothing;
  const std::vector<std::string> gone{"unreached: no answer"};
  const std::vector<std::string> back{"unreached: no answer", "reached"};
  struct Case {
    const char* what;
    Duration from;
    Duration until;
    bool hangs;
    Duration connect_timeout;
    std::vector<std::string> told;
  };
  for (const Case& c :
       {Case{"a blip", 9s, 10500ms, false, 5s, nothing}, Case{"an outage", 9s, 20s, false, 5s, back},
        Case{"a server that hangs", 9s, 40s, true, 5s, back}, Case{"longer than the wait", 9s, 1h, false, 5s, gone},
        Case{"longer than the wait, and it hangs", 9s, 1h, true, 5s, gone},
        Case{"a first contact is refused with the reason", 0s, 1h, false, 5s, nothing},
        Case{"a first contact that may take its time", 0s, 20s, false, 30s, back}}) {
    CAPTURE(c.what);
    World world;
    world.spec.wait.until = world.at(60s);
    world.spec.wait.connect_timeout = c.connect_timeout;
    world.lock.free_at = world.at(10s);
    world.lock.hangs = c.hangs;
    world.is_out(c.from, c.until);
    (void)world.run();
    CHECK(told_of_outages(world.control.told) == c.told);
  }
}

TEST_CASE("an outage that comes back is told again") {
  World world;
  world.lock.free_at = world.at(10s);
  world.is_out(9s, 20s);
  world.control.on_tell = [&](const SessionEvent& event) {
    if (world.clock.since_start() > 40s) return;
    world.lock.free_at = world.at(50s);
    if (std::holds_alternative<Reached>(event)) world.is_out(49s, 70s);
  };
  CHECK(world.is_granted());
  CHECK(told_of_outages(world.control.told) ==
        std::vector<std::string>{"unreached: no answer", "reached", "unreached: no answer", "reached"});
}

TEST_CASE(
    "a question who has it that the store does not answer is asked again, and told as an outage when that lasts") {
  World world;
  world.spec.wait.until = world.at(100s);
  world.control.who = true;
  SUBCASE("soon answered") {
    world.lock.describable_from = world.at(1500ms);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 1);
    CHECK(std::get<Waiting>(world.control.told[0]).state.holders.at(0).owner == "somebody");
  }
  SUBCASE("answered after a minute") {
    world.lock.describable_from = world.at(1min);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 3);
    CHECK(std::get<Unreached>(world.control.told[0]).why == "no answer");
    CHECK(std::holds_alternative<Reached>(world.control.told[1]));
    CHECK(std::holds_alternative<Waiting>(world.control.told[2]));
    CHECK(world.lock.described_at.size() < 100);
  }
  SUBCASE("nobody is to be told") {
    world.lock.failure.code = ErrorCode::kUnsupported;
    world.lock.describable_from = world.at(1min);
    (void)world.refused();
    REQUIRE(world.control.told.size() == 1);
    CHECK(std::get<Waiting>(world.control.told[0]).state.holders.empty());
  }
}

TEST_CASE("with -v an outage says once that it is tried again, and why") {
  World world;
  world.lock.free_at = world.at(100s);
  world.is_out(90s, 160s);
  CHECK(world.is_granted());
  CHECK(world.said() == "dlock: k: tried again: no answer\n");
}

TEST_CASE("the same step is said once, and again after another one") {
  World world;
  world.lock.free_at = world.at(0s);
  REQUIRE(world.is_granted());
  for (const char* step : {"queued", "queued", "tried again", "queued"}) world.acquisition->trace(step);
  CHECK(world.said() == "dlock: k: queued\ndlock: k: tried again\ndlock: k: queued\n");
}

}  // namespace
}  // namespace dlock::acquisition_test
