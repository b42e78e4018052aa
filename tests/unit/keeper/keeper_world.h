// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>

#include "lib/base/packets.h"
#include "lib/keeper/hold_socket.h"
#include "lib/keeper/keeper_loop.h"
#include "lib/lock/lease.h"
#include "tests/support/fake_clock.h"

/// The world of a keeper without a store, without processes and without time: what the tables of keeper_loop_test.cpp
/// and keeper_orphans_test.cpp are played in.
namespace dlock::testing::keeper {

using namespace std::chrono_literals;

inline constexpr Duration kTtl = 30s;
inline constexpr Duration kInterval = 10s;
inline constexpr Duration kKillAfter = 5s;

/// A process that ends when it is told to, or does not.
struct FakeProcess {
  ProcessId id;
  bool obeys_term = true;
  bool untouchable = false;
  bool stranger = false;  ///< none of the command's
};

class FakeProcesses final : public Processes {
 public:
  explicit FakeProcesses(FakeClock& clock) : clock_(clock) {}

  /// Ends when nothing is `living` any more.
  Result<UniqueFd> watch(pid_t /*pid*/) override {
    if (living.empty()) return UniqueFd();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    life = UniqueFd(ends[1]);
    return UniqueFd(ends[0]);
  }
  std::optional<std::vector<ProcessId>> below(const UniqueFd& /*pidfd*/) override {
    looked = true;
    if (!shown) return std::nullopt;
    std::vector<ProcessId> all;
    for (const FakeProcess& process : living) {
      if (!process.stranger) all.push_back(process.id);
    }
    return all;
  }
  std::optional<std::vector<Family>> adopted(const ProcessId& /*guard*/) override {
    if (!shown) return std::nullopt;
    std::vector<Family> all;
    for (const FakeProcess& process : living) all.push_back({process.id});
    return all;
  }
  bool knows(const ProcessId& process, const std::string& /*owner*/) override {
    return std::find(marked.begin(), marked.end(), process.pid) != marked.end();
  }
  std::optional<ProcessId> identify(const UniqueFd& /*pidfd*/) override { return ProcessId{99, 1}; }
  bool signal(const ProcessId& process, int number) override {
    bool may = true;
    signals.push_back({clock_.since_start(), process.pid, number});
    end_if([&](const FakeProcess& one) {
      const bool it = one.id.pid == process.pid;
      if (it && one.untouchable) may = false;
      return it && !one.untouchable && (number == SIGKILL || one.obeys_term);
    });
    return may;
  }
  void signal_by(const UniqueFd& /*pidfd*/, int number) override {
    if (number != SIGCONT) signal(living.front().id, number);
  }
  void close_streams() override { streams_closed = true; }

  /// Ends when nothing is left of the command, unless the guard was killed.
  UniqueFd farewell() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    word = UniqueFd(ends[1]);
    return UniqueFd(ends[0]);
  }
  void kill_guard() { life.reset(); }

  void end(pid_t pid) {
    end_if([&](const FakeProcess& one) { return one.id.pid == pid; });
  }

  struct Sent {
    Duration at;
    pid_t pid;
    int number;
    bool operator==(const Sent&) const = default;
  };
  std::vector<FakeProcess> living;
  std::vector<Sent> signals;
  bool looked = false;
  bool shown = true;  ///< by /proc
  bool streams_closed = false;
  std::vector<pid_t> marked;  ///< that know the owner
  UniqueFd life;              ///< of what is watched, closed at its end
  UniqueFd word;              ///< that nothing is left

 private:
  void end_if(const std::function<bool(const FakeProcess&)>& ends) {
    std::erase_if(living, ends);
    const bool left = std::any_of(living.begin(), living.end(), [](const FakeProcess& one) { return !one.stranger; });
    if (left) return;
    if (life.valid()) word.reset();
    life.reset();
  }

  FakeClock& clock_;
};

/// A lock that answers as it is told, and remembers when it was asked.
struct LockScript {
  std::function<std::optional<std::variant<Granted, Refused>>(Control&)> acquire;
  std::function<Renewal(Control&, TimePoint until)> renew;
  std::function<Renewal(TimePoint)> held;
  std::function<Result<void>(TimePoint)> release = [](TimePoint) { return Result<void>(); };
  std::function<Result<void>()> leave = [] { return Result<void>(); };
  std::optional<TimePoint> wake_at;
  std::vector<Duration> renewals;
  std::vector<Duration> releases;
  std::vector<Duration> leaves;
  std::optional<int> ended;  ///< how the command ended, if that was told before the release
};

class ScriptedLock final : public LockDriver {
 public:
  ScriptedLock(LockScript& script, FakeClock& clock) : script_(script), clock_(clock) {}
  std::optional<std::variant<Granted, Refused>> acquire(Control& control) override { return script_.acquire(control); }
  Renewal renew(Control& control, TimePoint until) override {
    script_.renewals.push_back(clock_.since_start());
    return script_.renew(control, until);
  }
  void command_ended(int wait_status) override {
    if (script_.releases.empty()) script_.ended = wait_status;
  }
  std::optional<TimePoint> wake_at() const override { return script_.wake_at; }
  Renewal held(TimePoint now) override { return script_.held(now); }
  Result<void> release(TimePoint until) override {
    script_.releases.push_back(clock_.since_start());
    return script_.release(until);
  }
  Result<void> leave(const LeaveSpec& spec, TimePoint /*until*/) override {
    script_.leaves.push_back(spec.ttl);
    return script_.leave();
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
  /// What lives is the command and its descendants.
  void say_started() {
    const auto guard = processes.watch(0);
    const UniqueFd farewell = processes.farewell();
    say({"farewell", {}}, farewell.get());
    say({"started", {}}, guard->get());
  }
  /// A run inside says something, on a connection of its own that is `socket` from then on.
  void say_inside(UniqueFd& socket, const Message& message, int descriptor = -1) {
    if (!socket.valid()) socket = connect_to_hold({spec.owner, FencingToken(7), spec.secret});
    REQUIRE(socket.valid());
    send_packet(socket.get(), encode(message), descriptor);
  }
  void enter(UniqueFd& socket, LockSpec inner) {
    inner.ancestor = HeldClaim{spec.owner, FencingToken(7), spec.secret};
    say_inside(socket, acquire_message(*BackendUrl::parse("redis://h"), inner, style));
  }
  /// What was said to it since the last look.
  static std::vector<SessionEvent> heard_inside(const UniqueFd& socket) {
    static char packet[kLargestMessage];
    std::vector<SessionEvent> all;
    ssize_t size = 0;
    while ((size = recv(socket.get(), packet, sizeof packet, MSG_DONTWAIT)) > 0) {
      all.push_back(*parse_event(*decode({packet, static_cast<std::size_t>(size)})));
    }
    return all;
  }
  void say_release() { say(deadline_message("release", clock.now() + 3s)); }
  void die() {
    listen();
    supervisor_.reset();
  }

  int run() {
    const UniqueFd entrance = listen_for_entries(spec.owner, spec.secret);
    say(acquire_message(*BackendUrl::parse("redis://h"), spec, style), entrance.get());
    return run_silent();
  }
  int run_silent() {
    const Log log(Log::Style{.quiet = true}, log_to >= 0 ? log_to : STDERR_FILENO);
    const auto open = [this](const AcquireRequest&, const Runtime&) {
      return Result<std::unique_ptr<LockDriver>>(std::make_unique<ScriptedLock>(lock, clock));
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
    made.secret = Owner::random().text();
    made.ttl = kTtl;
    made.renew_interval = kInterval;
    made.kill_after = kKillAfter;
    return made;
  }();
  Duration ended{};
  bool deaf = false;     ///< the supervisor does not read
  bool stopped = false;  ///< the supervisor does not say whether it is there
  std::vector<Duration> asked_there;
  std::vector<std::size_t> more_follows;  ///< how many renewals had been read at each "more"
  int log_to = -1;                        ///< where the keeper's log goes; -1: nowhere
  Log::Style style = kSilent;

 private:
  void listen() {
    static char packet[kLargestMessage];
    while (supervisor_.valid() && !deaf) {
      const ssize_t size = recv(supervisor_.get(), packet, sizeof packet, MSG_DONTWAIT);
      if (size <= 0) return;
      const auto message = decode({packet, static_cast<std::size_t>(size)});
      REQUIRE(message);
      if (message->verb == kThere) {
        asked_there.push_back(clock.since_start());
        if (!stopped) say({std::string(kHere), {}});
        continue;
      }
      if (message->verb == kMore) {
        more_follows.push_back(heard<Renewed>().size());
        continue;
      }
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

inline Renewal no_answer(Control&, TimePoint) { return RenewalUnknown{"redis://h does not answer"}; }

}  // namespace dlock::testing::keeper
