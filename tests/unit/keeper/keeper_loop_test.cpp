// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/keeper_loop.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>

#include "lib/keeper/packets.h"
#include "lib/keeper/shared_deadline.h"
#include "lib/lock/lease.h"
#include "tests/support/fake_clock.h"

using namespace dlock;
using namespace dlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr Duration kTtl = 30s;
constexpr Duration kInterval = 10s;
constexpr Duration kKillAfter = 5s;

/// A process that ends when it is told to, or does not.
struct FakeProcess {
  ProcessId id;
  bool obeys_term = true;
  bool untouchable = false;
  bool marked = true;
  UniqueFd life{};  ///< closed at its end
};

class FakeProcesses final : public Processes {
 public:
  explicit FakeProcesses(FakeClock& clock) : clock_(clock) {}

  Result<UniqueFd> watch(pid_t pid) override {
    for (FakeProcess& process : living) {
      if (process.id.pid != pid) continue;
      int ends[2];
      REQUIRE(pipe(ends) == 0);
      process.life = UniqueFd(ends[1]);
      return UniqueFd(ends[0]);
    }
    return UniqueFd();
  }
  ProcessId command(pid_t pid, const std::string& /*owner*/) override {
    return pid == stranger ? ProcessId{} : find(pid);
  }
  std::vector<ProcessId> remaining(const std::vector<ProcessId>& roots, const std::string& owner) override {
    asked_for = owner;
    std::vector<ProcessId> all;
    for (const FakeProcess& process : living) {
      const bool root =
          std::any_of(roots.begin(), roots.end(), [&](const ProcessId& id) { return id.pid == process.id.pid; });
      if (root || (process.marked && !owner.empty())) all.push_back(process.id);
    }
    return all;
  }
  void signal(const ProcessId& process, int number) override {
    signals.push_back({clock_.since_start(), process.pid, number});
    std::erase_if(living, [&](const FakeProcess& one) {
      return one.id.pid == process.pid && !one.untouchable && (number == SIGKILL || one.obeys_term);
    });
  }
  void close_streams() override { streams_closed = true; }

  void end(pid_t pid) {
    std::erase_if(living, [&](const FakeProcess& one) { return one.id.pid == pid; });
  }

  struct Sent {
    Duration at;
    pid_t pid;
    int number;
    bool operator==(const Sent&) const = default;
  };
  std::vector<FakeProcess> living;
  std::vector<Sent> signals;
  std::string asked_for = "nobody";
  pid_t stranger = 0;
  bool streams_closed = false;

 private:
  ProcessId find(pid_t pid) const {
    for (const FakeProcess& process : living) {
      if (process.id.pid == pid) return process.id;
    }
    return {};
  }
  FakeClock& clock_;
};

/// A lock that answers as it is told, and remembers when it was asked.
struct LockScript {
  std::function<std::optional<std::variant<Granted, Refused>>(Control&)> acquire;
  std::function<Renewal(Control&, TimePoint until)> renew;
  std::function<Renewal(TimePoint)> held;
  std::function<Result<void>(TimePoint)> release = [](TimePoint) { return Result<void>(); };
  std::optional<TimePoint> wake_at;
  std::vector<Duration> renewals;
  std::vector<Duration> releases;
  std::vector<Duration> leaves;
  std::optional<int> ended;  ///< how the command ended, if that was told before the release
};

class ScriptedLock final : public KeptLock {
 public:
  ScriptedLock(LockScript& script, FakeClock& clock) : script_(script), clock_(clock) {}
  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override { return script_.acquire(control); }
  Renewal renew(Control& control, TimePoint until) override {
    script_.renewals.push_back(clock_.since_start());
    return script_.renew(control, until);
  }
  void add_interest(std::vector<pollfd>& /*fds*/) const override {}
  void command_ended(int wait_status) override {
    if (script_.releases.empty()) script_.ended = wait_status;
  }
  std::optional<TimePoint> wake_at() const override { return script_.wake_at; }
  Renewal held(TimePoint now) override { return script_.held(now); }
  Result<void> release(TimePoint until) override {
    script_.releases.push_back(clock_.since_start());
    return script_.release(until);
  }
  Result<void> leave(Duration ttl, TimePoint /*until*/) override {
    script_.leaves.push_back(ttl);
    return {};
  }

 private:
  LockScript& script_;
  FakeClock& clock_;
};

/// A keeper under a clock that jumps from one thing that happens to the next, and the supervisor that it talks to.
class World {
 public:
  World() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    supervisor_ = UniqueFd(ends[0]);
    keeper_ = UniqueFd(ends[1]);
    lock.acquire = [this](Control&) { return std::variant<Granted, Refused>(grant()); };
    lock.renew = [this](Control&, TimePoint) { return RenewalRenewed{lease_deadline(clock.now(), kTtl)}; };
    clock.next_happening = [this]() -> std::optional<TimePoint> {
      listen();
      if (plan_.empty()) return std::nullopt;
      if (plan_.front().at > clock.since_start()) return FakeClock::start() + plan_.front().at;
      const auto act = std::move(plan_.front().act);
      plan_.pop_front();
      act();
      return clock.now();
    };
    clock.on_stuck = [this] { supervisor_.reset(); };
  }

  Granted grant() const {
    return {{{spec.name, spec.owner, FencingToken(7), "mem://x"}}, lease_deadline(clock.now(), kTtl)};
  }

  /// In the order of time.
  void at(Duration time, std::function<void()> act) { plan_.push_back({time, std::move(act)}); }
  void say(const Message& message, int descriptor = -1) { send_packet(supervisor_.get(), encode(message), descriptor); }
  void say_release() { say(deadline_message("release", clock.now() + 3s)); }
  void die() {
    listen();
    supervisor_.reset();
  }

  int run() {
    say(acquire_message(*BackendUrl::parse("redis://h"), spec));
    return run_silent();
  }
  int run_silent() {
    const Log log(Log::Style{.quiet = true});
    const auto open = [this](const AcquireRequest&, const Runtime&) {
      return Result<std::unique_ptr<KeptLock>>(std::make_unique<ScriptedLock>(lock, clock));
    };
    const int status = keep(std::move(keeper_), open, {clock, log}, processes);
    ended = clock.since_start();
    listen();
    return status;
  }

  struct Heard {
    Duration at;
    SessionEvent event;
  };
  template <typename Event>
  std::vector<std::pair<Duration, Event>> heard() const {
    std::vector<std::pair<Duration, Event>> found;
    for (const Heard& one : heard_) {
      if (const auto* event = std::get_if<Event>(&one.event)) found.push_back({one.at, *event});
    }
    return found;
  }
  /// The last word is the only final one.
  template <typename Event>
  bool last_word_is() const {
    return !heard_.empty() && std::holds_alternative<Event>(heard_.back().event);
  }
  std::size_t words() const { return heard_.size(); }

  FakeClock clock;
  FakeProcesses processes{clock};
  LockScript lock;
  LockSpec spec = [] {
    LockSpec made{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = {}, .ancestor = {}};
    made.ttl = kTtl;
    made.renew_interval = kInterval;
    made.kill_after = kKillAfter;
    return made;
  }();
  Duration ended{};

 private:
  void listen() {
    static char packet[kLargestMessage];
    while (supervisor_.valid()) {
      const ssize_t size = recv(supervisor_.get(), packet, sizeof packet, MSG_DONTWAIT);
      if (size <= 0) return;
      const auto message = decode({packet, static_cast<std::size_t>(size)});
      REQUIRE(message);
      auto event = parse_event(*message);
      REQUIRE(event);
      heard_.push_back({clock.since_start(), std::move(*event)});
    }
  }

  struct Planned {
    Duration at;
    std::function<void()> act;
  };
  UniqueFd supervisor_;
  UniqueFd keeper_;
  std::deque<Planned> plan_;
  std::vector<Heard> heard_;
};

Renewal no_answer(Control&, TimePoint) { return RenewalUnknown{"redis://h does not answer"}; }

}  // namespace

TEST_CASE("A lock is renewed on time for half a day, and each renewal is told") {
  World world;
  world.at(12h + 5s, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  REQUIRE(world.lock.renewals.size() == 12 * 360);
  for (std::size_t i = 0; i < world.lock.renewals.size(); ++i) {
    REQUIRE(world.lock.renewals[i] == kInterval * static_cast<int>(i + 1));
  }
  const auto renewed = world.heard<Renewed>();
  REQUIRE(renewed.size() == world.lock.renewals.size());
  CHECK(renewed.back().second.deadline == lease_deadline(FakeClock::start() + 12h, kTtl));
  CHECK(world.lock.releases == std::vector<Duration>{12h + 5s});
  CHECK(world.last_word_is<Released>());
  CHECK_FALSE(world.clock.stuck);
}

TEST_CASE("To a supervisor that looks for itself renewals are shown, and everything else is said") {
  World world;
  const auto shared = SharedDeadline::make();
  REQUIRE(shared);
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.clock.since_start() >= 10h) return RenewalUnknown{"cut"};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(15s, [&] { world.say({"look", {}}, shared->fd()); });
  world.at(25s, [&] { CHECK(shared->shown() == lease_deadline(FakeClock::start() + 20s, kTtl)); });
  world.run();
  CHECK(world.heard<Renewed>().size() == 1);
  CHECK(shared->shown() == lease_deadline(FakeClock::start() + 10h - 10s, kTtl));
  CHECK(world.heard<Unrenewed>().size() == 1);
  CHECK(world.last_word_is<Lost>());
}

TEST_CASE("Where there is nothing to show renewals in they go on being said") {
  World world;
  UniqueFd unsealed;
  SUBCASE("no descriptor") {}
  SUBCASE("one that could be made shorter under the reader") { unsealed = UniqueFd(memfd_create("x", MFD_CLOEXEC)); }
  world.at(15s, [&] { world.say({"look", {}}, unsealed.get()); });
  world.at(45s, [&] { world.say_release(); });
  CHECK(world.run() == 0);
  CHECK(world.heard<Renewed>().size() == 4);
}

TEST_CASE("What was granted reaches the supervisor whole") {
  World world;
  world.at(1s, [&] { world.say_release(); });
  world.run();
  const auto granted = world.heard<Granted>();
  REQUIRE(granted.size() == 1);
  CHECK(granted[0].second.locks[0].owner == world.spec.owner);
  CHECK(granted[0].second.deadline == lease_deadline(FakeClock::start(), kTtl));
}

TEST_CASE("A lease that was sent for long ago is renewed at once") {
  World world;
  world.lock.acquire = [&](Control&) {
    const Granted granted = world.grant();
    world.clock.advance(15s);  // the answer was slow
    return std::variant<Granted, Refused>(granted);
  };
  world.at(16s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{15s});
}

TEST_CASE("An unknown renewal is tried again every second until it is confirmed, and costs nothing") {
  World world;
  int failures = 4;
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (failures-- > 0) return RenewalUnknown{"cut"};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(25s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 11s, 12s, 13s, 14s, 24s});
  CHECK(world.heard<Lost>().empty());
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("The supervisor is told why a renewal was not confirmed, once for each reason") {
  World world;
  std::deque<std::string> reasons{"cut", "cut", "slow", "", "cut"};
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    const std::string why = reasons.empty() ? "" : reasons.front();
    if (!reasons.empty()) reasons.pop_front();
    if (!why.empty()) return RenewalUnknown{why};
    return RenewalRenewed{lease_deadline(world.clock.now(), kTtl)};
  };
  world.at(26s, [&] { world.say_release(); });
  world.run();
  std::vector<std::string> told;
  for (const auto& [at, unrenewed] : world.heard<Unrenewed>()) told.push_back(unrenewed.why);
  CHECK(told == std::vector<std::string>{"cut", "slow", "cut"});
}

TEST_CASE("One attempt to renew has a sixth of the ttl, and never goes beyond the deadline") {
  World world;
  std::vector<Duration> budgets;
  world.lock.renew = [&](Control&, TimePoint until) {
    budgets.push_back(until - world.clock.now());
    world.clock.advance(until - world.clock.now());
    return RenewalUnknown{"no answer"};
  };
  world.run();
  CHECK(budgets == std::vector<Duration>{5s, 5s, 5s, 4s + 698ms});
  CHECK(world.last_word_is<Lost>());
}

TEST_CASE("Without any renewal the lock is lost at its deadline, with the last reason") {
  World world;
  world.lock.renew = no_answer;
  world.run();
  const auto lost = world.heard<Lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == lease_deadline(TimePoint(), kTtl) - TimePoint());
  CHECK(lost[0].second.why.find("no renewal for 2") == 0);
  CHECK(lost[0].second.why.find("redis://h does not answer") != std::string::npos);
  CHECK(world.ended >= lost[0].first);
  CHECK(world.ended <= lost[0].first + kLastWordToEnd);
}

TEST_CASE("What the store takes away is told at once, whether it was asked or not") {
  World world;
  SUBCASE("by a renewal") {
    world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  }
  SUBCASE("by a message of the store") {
    world.lock.wake_at = FakeClock::start() + 10s;
    world.spec.renew_interval = 12s;
    world.lock.held = [](TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  }
  world.run();
  const auto lost = world.heard<Lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == 10s);
  CHECK(lost[0].second.why == "it is held by ci-4");
  CHECK(world.lock.releases.empty());  // it is not ours to give back
}

TEST_CASE("A lock that somebody asks for is kept until nothing of the command is left, and nobody but dlock ends it") {
  World world;
  world.processes.living.push_back({{100, 1}});
  world.spec.lock_delay = 20s;  // this end is an orderly one
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.lock.wake_at = FakeClock::start() + 3s;
  world.lock.held = [&](TimePoint) {
    world.lock.wake_at.reset();
    return RenewalAsked{"another client asked for it"};
  };
  world.at(4s, [&] { world.die(); });  // as dlock does when it hears "lost"
  world.at(15s, [&] { world.processes.end(100); });
  world.run();
  const auto lost = world.heard<Lost>();
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == 3s);
  CHECK(lost[0].second.why == "another client asked for it");
  CHECK(world.processes.signals.empty());
  CHECK(world.lock.renewals == std::vector<Duration>{10s});
  CHECK(world.lock.leaves.empty());
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] > 15s);
  CHECK(world.lock.releases[0] < 15s + 200ms);
}

TEST_CASE("A keeper that slept past the deadline says lost, whatever the store answers") {
  World world;
  SUBCASE("while it waited") {
    world.at(3s, [&] { world.clock.advance(1h); });
    world.run();
    CHECK(world.lock.renewals.empty());
  }
  SUBCASE("while it renewed") {
    world.lock.renew = [&](Control&, TimePoint) {
      const TimePoint sent = world.clock.now();
      world.clock.advance(1h);
      return RenewalRenewed{lease_deadline(sent + 1h, kTtl)};
    };
    world.run();
  }
  CHECK(world.heard<Renewed>().empty());
  REQUIRE(world.heard<Lost>().size() == 1);
  CHECK(world.heard<Lost>()[0].second.why.find("no renewal for 1 h") == 0);
}

TEST_CASE("A lock that the store keeps for its session is asked about, and has no deadline") {
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.deadline.reset();
    return std::variant<Granted, Refused>(granted);
  };
  world.lock.renew = [&](Control&, TimePoint) -> Renewal {
    if (world.lock.renewals.size() == 2) return RenewalUnknown{"slow"};
    return RenewalHeld{};
  };
  world.at(35s, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals == std::vector<Duration>{10s, 20s, 21s, 31s});
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("A release that crosses a renewal ends its wait, and is answered at once") {
  World world;
  world.lock.renew = [&](Control& control, TimePoint) -> Renewal {
    CHECK_FALSE(control.stop_requested());
    world.clock.advance(300ms);
    world.say_release();
    CHECK(control.stop_requested());
    return RenewalUnknown{"interrupted"};
  };
  TimePoint until{};
  world.lock.release = [&](TimePoint by) {
    until = by;
    return Result<void>();
  };
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{10s + 300ms});
  CHECK(until == FakeClock::start() + 13s + 300ms);
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("A release is answered as the store answered it") {
  World world;
  world.at(1s, [&] { world.say_release(); });
  SUBCASE("not confirmed") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kUnavailable, "cut"}); };
    world.run();
    CHECK(world.last_word_is<ReleaseUnconfirmed>());
  }
  SUBCASE("it was not ours any more") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kLost, "held by ci-4"}); };
    world.run();
    CHECK(world.last_word_is<Lost>());
  }
}

TEST_CASE("A withdraw ends the wait for the lock") {
  World world;
  world.lock.acquire = [&](Control& control) {
    world.say(deadline_message("withdraw", world.clock.now() + 1s));
    CHECK(control.stop_requested());
    return std::nullopt;
  };
  CHECK(world.run() == 0);
  CHECK(world.words() == 1);
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases.empty());
}

TEST_CASE("A grant that crosses a withdraw is given back, and only withdrawn is said") {
  World world;
  world.lock.acquire = [&](Control&) {
    world.say(deadline_message("withdraw", world.clock.now() + 1s));
    return std::variant<Granted, Refused>(world.grant());
  };
  SUBCASE("confirmed") {}
  SUBCASE("not confirmed: it leaves by itself") {
    world.lock.release = [](TimePoint) { return Result<void>(Error{ErrorCode::kUnavailable, "cut"}); };
  }
  world.run();
  CHECK(world.words() == 1);
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases == std::vector<Duration>{0s});
}

TEST_CASE("A withdraw that was sent before the grant arrived gives back, too") {
  World world;
  world.at(10ms, [&] { world.say(deadline_message("withdraw", world.clock.now() + 1s)); });
  world.run();
  CHECK(world.last_word_is<Withdrawn>());
  CHECK(world.lock.releases == std::vector<Duration>{10ms});
}

TEST_CASE("The question for whom we wait reaches the lock that waits") {
  World world;
  world.lock.acquire = [&](Control& control) -> std::variant<Granted, Refused> {
    CHECK_FALSE(control.take_who());
    world.say({"who", {}});
    CHECK(control.take_who());
    CHECK_FALSE(control.take_who());
    CHECK_FALSE(control.stop_requested());
    control.tell(Waiting{{world.spec.name, "mem://x", Mode::kExclusive, 0, {}, {}}});
    return Refused{{ErrorCode::kBusy, "held"}, std::nullopt};
  };
  world.run();
  CHECK(world.heard<Waiting>().size() == 1);
  CHECK(world.last_word_is<Refused>());
}

TEST_CASE("A spec that takes nothing is granted, never renewed, and needs no release") {
  World world;
  world.lock.acquire = [](Control&) { return std::variant<Granted, Refused>(Granted{}); };
  world.at(1h, [&] { world.say_release(); });
  world.run();
  CHECK(world.lock.renewals.empty());
  CHECK(world.lock.releases.empty());
  CHECK(world.last_word_is<Released>());
}

TEST_CASE("What makes no sense ends with 70, and says so when it can") {
  World world;
  SUBCASE("another word than acquire") {
    world.say({"hello", {}});
    CHECK(world.run_silent() == 70);
    CHECK(world.words() == 0);
  }
  SUBCASE("an acquire without a name") {
    world.say({"acquire", {{"url", "redis://h"}}});
    CHECK(world.run_silent() == 70);
    CHECK(world.last_word_is<Refused>());
  }
  SUBCASE("later: the lock is kept all the same") {
    world.at(1s, [&] { world.say({"hello", {}}); });
    world.at(35s, [&] { world.say_release(); });
    CHECK(world.run() == 70);
    CHECK(world.lock.renewals.size() == 3);
    CHECK(world.last_word_is<Released>());
  }
}

TEST_CASE("A supervisor that dies before the grant leaves nothing behind") {
  World world;
  SUBCASE("before it asked for anything") {
    world.at(1s, [&] { world.die(); });
    CHECK(world.run_silent() == 0);
  }
  SUBCASE("while the lock is waited for") {
    world.lock.acquire = [&](Control& control) {
      world.die();
      CHECK(control.stop_requested());
      return std::nullopt;
    };
    CHECK(world.run() == 0);
  }
  SUBCASE("as it is granted") {
    world.lock.acquire = [&](Control&) {
      world.die();
      return std::variant<Granted, Refused>(world.grant());
    };
    CHECK(world.run() == 0);
    CHECK(world.lock.releases == std::vector<Duration>{0s});
  }
  CHECK(world.processes.signals.empty());
}

TEST_CASE("A supervisor that dies without a command: the lock is given back at once, nobody is looked for") {
  World world;
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.lock.releases == std::vector<Duration>{4s});
  CHECK(world.processes.asked_for == "nobody");
}

TEST_CASE("What is left of a dead supervisor's command is ended, and then the lock is given back") {
  World world;
  world.processes.living.push_back({{100, 1}});
  world.processes.living.push_back({{101, 1}});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{4s, 100, SIGTERM}, {4s, 101, SIGTERM}});
  CHECK(world.processes.asked_for == world.spec.owner.text());
  CHECK(world.processes.streams_closed);
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 4s < 20ms);
}

TEST_CASE("The lock is given back only after the last process has ended, and within milliseconds of that") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 100, SIGTERM}});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] > 6s);
  CHECK(world.lock.releases[0] < 6s + 20ms);
}

TEST_CASE("A process that does not obey TERM is killed after kill_after, under a lease that is renewed") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(8s, [&] { world.die(); });
  world.run();
  using Sent = FakeProcesses::Sent;
  CHECK(world.processes.signals == std::vector<Sent>{{8s, 100, SIGTERM}, {8s + kKillAfter, 100, SIGKILL}});
  CHECK(world.lock.renewals == std::vector<Duration>{10s});
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 13s < 20ms);
}

TEST_CASE("KILL does not wait when the lease is about to end, and no attempt to renew delays it") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.lock.renew = [&](Control&, TimePoint until) {
    world.clock.advance(until - world.clock.now());
    return RenewalUnknown{"no answer"};
  };
  world.spec.kill_after = 15s;
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(24s, [&] { world.die(); });
  world.run();
  const TimePoint due = kill_at(lease_deadline(FakeClock::start(), kTtl), kTtl);
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].number == SIGKILL);
  CHECK(world.processes.signals[1].at == due - FakeClock::start());
}

TEST_CASE("Orphans under a lease that the store took away are killed at once, and nothing is given back") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.spec.kill_after = 15s;
  world.lock.renew = [](Control&, TimePoint) { return RenewalLost{"it is held by ci-4"}; };
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(8s, [&] { world.die(); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].number == SIGKILL);
  CHECK(world.processes.signals[1].at - 10s < 60ms);
  CHECK(world.lock.releases.empty());
}

TEST_CASE("What may not be ended is outlived: the lease is renewed until it has gone") {
  World world;
  world.processes.living.push_back({{100, 1}, false, true});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(2h + 3s, [&] { world.processes.end(100); });
  world.run();
  CHECK(world.lock.renewals.size() == 720);
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - (2h + 3s) < 120ms);
}

TEST_CASE("A process that appears between two looks gets its TERM, too") {
  World world;
  world.processes.living.push_back({{100, 1}, false});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.at(5s, [&] { world.processes.living.push_back({{102, 9}}); });
  world.at(6s, [&] { world.processes.end(100); });
  world.run();
  REQUIRE(world.processes.signals.size() == 2);
  CHECK(world.processes.signals[1].pid == 102);
  CHECK(world.processes.signals[1].number == SIGTERM);
}

TEST_CASE("A command that had ended before it was looked at may have left others behind") {
  World world;
  world.processes.living.push_back({{101, 1}});
  world.at(4s, [&] {
    world.say({"started", {{"pid", "100"}}});
    world.die();
  });
  world.run();
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 101, SIGTERM}});
  CHECK(world.lock.releases.size() == 1);
}

TEST_CASE("A pid that is not our command's is left alone") {
  World world;
  world.processes.living.push_back({.id = {100, 1}, .marked = false});
  world.processes.stranger = 100;
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.signals.empty());
  REQUIRE(world.lock.releases.size() == 1);
  CHECK(world.lock.releases[0] - 4s < 20ms);
}

TEST_CASE("Under a hold that was only entered again, the marks of the outer hold are nobody's to end") {
  World world;
  world.lock.acquire = [&](Control&) {
    Granted granted = world.grant();
    granted.locks[0].reentered = true;
    return std::variant<Granted, Refused>(granted);
  };
  world.processes.living.push_back({{100, 1}});
  world.processes.living.push_back({{101, 1}});
  world.at(1s, [&] { world.say({"started", {{"pid", "100"}}}); });
  world.at(4s, [&] { world.die(); });
  world.run();
  CHECK(world.processes.asked_for == "");
  CHECK(world.processes.signals == std::vector<FakeProcesses::Sent>{{4s, 100, SIGTERM}});
}

TEST_CASE("A detached lock is renewed until the watched process has ended, and then given back") {
  World world;
  world.processes.living.push_back({{200, 1}});
  world.at(1s, [&] { world.say({"detach", {{"ttl", "30000000000"}, {"pid", "200"}}}); });
  world.at(2s, [&] { world.die(); });
  world.at(1h + 5s, [&] { world.processes.end(200); });
  world.run();
  CHECK(world.heard<Released>()[0].first == 1s);  // the answer comes first
  CHECK(world.processes.streams_closed);
  CHECK(world.processes.signals.empty());
  CHECK(world.lock.renewals.size() == 360);
  CHECK(world.lock.releases == std::vector<Duration>{1h + 5s});
}

TEST_CASE("A lock that is to be detached for a process that has ended already is not, and is given back") {
  World world;
  world.at(1s, [&] { world.say({"detach", {{"ttl", "30000000000"}, {"pid", "200"}}}); });
  world.run();
  CHECK(world.last_word_is<ReleaseUnconfirmed>());
  CHECK(world.lock.releases == std::vector<Duration>{1s});
}

TEST_CASE("A lock that is detached for a time is left to the store") {
  World world;
  world.at(1s, [&] { world.say({"detach", {{"ttl", "60000000000"}}}); });
  world.run();
  CHECK(world.lock.leaves == std::vector<Duration>{60s});
  CHECK(world.last_word_is<Released>());
  CHECK(world.lock.releases.empty());
  CHECK(world.ended >= 1s);
  CHECK(world.ended <= 1s + kLastWordToEnd);
}

TEST_CASE("A keeper that has said its last word ends after its supervisor, whether that one ends or not") {
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    World world;
    world.at(1s, [&] { world.say_release(); });
    if (ends) world.at(1s + 20ms, [&] { world.die(); });
    world.run();
    CHECK(world.last_word_is<Released>());
    if (ends) {
      CHECK(world.ended > 1s + 20ms);
      CHECK(world.ended < 1s + 50ms);
    } else {
      CHECK(world.ended == 1s + kLastWordToEnd);
    }
    CHECK(world.processes.signals.empty());
  }
}

TEST_CASE(
    "How the command ended is known to the lock before it is given back, also when the supervisor dies in between") {
  for (const bool dies : {false, true}) {
    CAPTURE(dies);
    World world;
    world.at(2s, [&] { world.say({"ended", {{"status", "256"}}}); });
    world.at(2s, [&] { dies ? world.die() : world.say_release(); });
    world.run();
    CHECK(world.lock.ended == 256);
    CHECK(world.lock.releases == std::vector<Duration>{2s});
  }
}

TEST_CASE("A supervisor that dies has not said how its command ended") {
  World world;
  world.at(2s, [&] { world.die(); });
  world.run();
  CHECK_FALSE(world.lock.ended);
  CHECK(world.lock.releases == std::vector<Duration>{2s});
}
