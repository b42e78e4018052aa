// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/native/lock.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "backends/redis/native/scripts.h"
#include "lib/lock/lease.h"
#include "tests/support/fake_clock.h"
#include "tests/support/scripted_control.h"

namespace native_lock_test {

using namespace dlock;
using namespace dlock::redis;
using namespace dlock::testing;
using namespace std::chrono_literals;

namespace {

Reply text(std::string value) { return {Reply::Kind::kString, std::move(value), 0, {}}; }
Reply number(std::int64_t value) { return {Reply::Kind::kInteger, "", value, {}}; }
Reply list(std::vector<Reply> elements) { return {Reply::Kind::kArray, "", 0, std::move(elements)}; }

/// One exclusive lock as the scripts of the native layout keep it, and a network that loses what it is told to.
class ScriptedServer final : public Deployment {
 public:
  explicit ScriptedServer(FakeClock& clock) : clock_(clock), connection_(nowhere()) {}

  enum class Fate { kArrives, kRequestLost, kReplyLost };

  Result<std::vector<Reply>> call(const std::string& /*key*/, const std::vector<Command>& commands, TimePoint until,
                                  Control* /*control*/) override {
    ++calls;
    clock_.advance(connecting);
    refused_ = clock_.now() < out_until;
    if (refused_) {
      if (insists_) clock_.advance(until - clock_.now());
      return Error{ErrorCode::kUnavailable, "cannot reach it: connection refused"};
    }
    reached_ = true;
    asked_at_ = clock_.now();
    clock_.advance(5ms);
    const Fate fate = loses ? loses(calls) : Fate::kArrives;
    if (fate == Fate::kRequestLost) return gone();
    std::vector<Reply> replies;
    for (const Command& command : commands) replies.push_back(run(command));
    if (fate == Fate::kReplyLost) return gone();
    return replies;
  }
  Connection* current(const std::string& /*key*/) override { return reached_ ? &connection_ : nullptr; }
  Result<std::vector<Connection*>> all_servers(TimePoint /*until*/) override { return std::vector<Connection*>{}; }

  bool is_clean() {
    expire();
    return holder.empty() && queue.empty();
  }
  void let_other_hold(Duration length) {
    holder = "another";
    held_until = clock_.now() + length;
    token = 1;
  }

  int calls = 0;
  int grants = 0;          ///< to a new holder
  Duration connecting{0};  ///< before a request is written
  TimePoint out_until{};   ///< nobody listens before
  std::string holder;
  TimePoint held_until{};
  std::int64_t token = 0;
  std::vector<std::string> queue;
  std::function<Fate(int call)> loses;

 private:
  /// A socket that is not there: what would be told beside the requests is not.
  static ConnectionSettings nowhere() {
    ConnectionSettings settings;
    settings.endpoint.socket = "/nonexistent/redis.sock";
    return settings;
  }
  static Error gone() { return {ErrorCode::kUnavailable, "lost the connection"}; }

  void expire() {
    if (!holder.empty() && clock_.now() >= held_until) holder.clear();
  }

  /// EVAL script N key fence holders until queue waiting, or the first N of these, and the script's ARGV.
  Reply run(const Command& command) {
    expire();
    REQUIRE(command.at(0) == "EVAL");
    const std::string& script = command[1];
    const std::size_t arguments = 3 + std::stoul(command[2]);
    const std::string& owner = command.size() > arguments + 1 ? command[arguments + 1] : command[arguments];
    if (script == native_scripts::kAcquire) return acquire(owner, Duration(std::stoll(command[12]) * 1ms), command[15]);
    if (script == native_scripts::kRenew) {
      if (holder != owner) return list({text("lost"), text(holder)});
      held_until = clock_.now() + std::stoll(command[arguments + 2]) * 1ms;
      return list({text("renewed"), text("1"), text(std::to_string(token))});
    }
    if (script == native_scripts::kRelease) {
      std::erase(queue, command[11]);
      if (holder != owner) return list({text("gone"), text(holder)});
      holder.clear();
      return list({text("released"), number(0)});
    }
    REQUIRE(script == native_scripts::kReadState);
    const auto pttl = std::chrono::duration_cast<std::chrono::milliseconds>(held_until - clock_.now()).count();
    return list({text("1"), text(holder.empty() ? "none" : "string"), text(holder), number(holder.empty() ? -2 : pttl),
                 list({}), list({}), list({}), list({}), number(0), number(token > 0 ? 1 : 0)});
  }

  Reply acquire(const std::string& owner, Duration ttl, const std::string& flags) {
    if (holder.empty()) {
      holder = owner;
      ++token;
      ++grants;
    }
    if (holder == owner) {
      std::erase(queue, owner);
      held_until = std::max(held_until, clock_.now() + ttl);
      return list({text("granted"), text(std::to_string(token)), text(owner), number(0)});
    }
    const bool waits = flags.find('e') != std::string::npos;
    if (waits && std::find(queue.begin(), queue.end(), owner) == queue.end()) queue.push_back(owner);
    const auto pttl = std::chrono::ceil<std::chrono::milliseconds>(held_until - clock_.now()).count();
    return list({text("busy"), number(pttl), number(0), text(waits ? "17" : ""), number(0), number(0)});
  }

  FakeClock& clock_;
  Connection connection_;
  bool reached_ = false;
};

struct World {
  World() {
    spec.ttl = 2s;
    spec.renew_interval = 666ms;
    spec.wait.connect_timeout = 5s;
  }

  NativeLock& lock() {
    if (!made) {
      made.emplace(std::move(owned), *native_names(spec.name), "redis://h", spec, ReplicaDemand{}, Runtime{clock, log});
    }
    return *made;
  }
  const Granted* granted(const std::optional<std::variant<Granted, Refused>>& answer) {
    return answer ? std::get_if<Granted>(&*answer) : nullptr;
  }

  FakeClock clock;
  Log log{Log::Style{.quiet = true}};
  LockSpec spec{.name = *LockName::parse("k"), .owner = Owner::random(), .wait = {}, .reason = "", .ancestor = {}};
  ScriptedControl control{clock};
  std::unique_ptr<ScriptedServer> owned = std::make_unique<ScriptedServer>(clock);
  ScriptedServer& server = *owned;
  std::optional<NativeLock> made;
};

using Fate = ScriptedServer::Fate;

/// Loses one message, or every one from there to there.
std::function<Fate(int)> losing(int first, int last, Fate what) {
  return [=](int call) { return call >= first && call <= last ? what : Fate::kArrives; };
}

constexpr int kMessagesOfALife = 4;  ///< acquire, renew, renew, release

}  // namespace

TEST_CASE("Whichever message is lost, a lock is taken once, renewed, and nothing of it is left behind") {
  for (const Fate what : {Fate::kRequestLost, Fate::kReplyLost}) {
    for (int first = 1; first <= kMessagesOfALife; ++first) {
      for (int length = 1; length <= 3; ++length) {
        CAPTURE(first);
        CAPTURE(length);
        World world;
        world.server.loses = losing(first, first + length - 1, what);
        const auto answer = world.lock().acquire(world.control);
        const Granted* granted = world.granted(answer);
        REQUIRE(granted);
        CHECK(granted->deadline <=
              world.server.held_until);  // what we believe is never more than what the server keeps
        for (int renewals = 0; renewals < 2;) {
          const auto renewal = world.lock().renew(world.control, world.clock.now() + 300ms);
          CHECK_FALSE(std::holds_alternative<RenewalLost>(renewal));
          const auto* renewed = std::get_if<RenewalRenewed>(&renewal);
          if (!renewed) continue;
          CHECK(renewed->deadline <= world.server.held_until);
          ++renewals;
        }
        CHECK(world.lock().release(world.clock.now() + 1s));
        CHECK(world.server.is_clean());
        CHECK(world.server.grants == 1);
      }
    }
  }
}

TEST_CASE("Whichever message is lost, a waiter gets the lock when it is free, and leaves the queue") {
  for (const Fate what : {Fate::kRequestLost, Fate::kReplyLost}) {
    for (int first = 1; first <= 6; ++first) {
      CAPTURE(first);
      World world;
      world.server.let_other_hold(1500ms);
      world.server.loses = losing(first, first, what);
      const auto answer = world.lock().acquire(world.control);
      REQUIRE(world.granted(answer));
      CHECK(world.server.holder == world.spec.owner.text());
      CHECK(world.lock().release(world.clock.now() + 1s));
      CHECK(world.server.is_clean());
    }
  }
}

TEST_CASE("Whichever message is lost, who gives up leaves neither a hold nor a place in the queue") {
  for (const Fate what : {Fate::kRequestLost, Fate::kReplyLost}) {
    for (const bool once : {false, true}) {
      for (int lost = 1; lost <= 4; ++lost) {
        CAPTURE(once);
        CAPTURE(lost);
        World world;
        world.spec.wait.once = once;
        if (!once) world.spec.wait.until = world.clock.now() + 400ms;
        if (lost > 1) world.server.let_other_hold(1h);
        world.server.loses = losing(lost, lost, what);
        const auto answer = world.lock().acquire(world.control);
        if (world.granted(answer)) CHECK(world.lock().release(world.clock.now() + 1s));
        CHECK(world.server.holder != world.spec.owner.text());
        CHECK(world.server.queue.empty());
      }
    }
  }
}

TEST_CASE("A wait that is stopped over a lost answer leaves nothing behind") {
  World world;
  world.control.stop_at = world.clock.now();
  world.server.loses = losing(1, 1, Fate::kReplyLost);
  CHECK_FALSE(world.lock().acquire(world.control));
  CHECK(world.server.is_clean());
}

TEST_CASE("A release whose answer was lost is done when nothing of the hold is left") {
  World world;
  REQUIRE(world.granted(world.lock().acquire(world.control)));
  world.server.loses = losing(2, 5, Fate::kReplyLost);
  CHECK(world.lock().release(world.clock.now() + 1s));
  CHECK(world.server.calls == 6);
}

TEST_CASE("A lease counts from when its request was written, not from before the server was found") {
  World world;
  world.server.connecting = 1900ms;
  const auto answer = world.lock().acquire(world.control);
  const Granted* granted = world.granted(answer);
  REQUIRE(granted);
  CHECK(granted->deadline == lease_deadline(FakeClock::start() + 1900ms, world.spec.ttl));
  const auto renewal = world.lock().renew(world.control, world.clock.now() + 1h);
  REQUIRE(std::holds_alternative<RenewalRenewed>(renewal));
  CHECK(std::get<RenewalRenewed>(renewal).deadline == lease_deadline(FakeClock::start() + 3805ms, world.spec.ttl));
}

TEST_CASE("A waiter outlives an outage that is shorter than its own wait") {
  World world;
  world.spec.wait.until = world.clock.now() + 60s;
  world.server.let_other_hold(1s);
  world.server.loses = [&](int call) {
    if (call == 2) world.server.out_until = world.clock.now() + 30s;  // queued, and then the server is gone
    return Fate::kArrives;
  };
  const auto answer = world.lock().acquire(world.control);
  REQUIRE(world.granted(answer));
  CHECK(world.clock.since_start() > 30s);
  CHECK(world.clock.since_start() < 40s);
}

TEST_CASE("A server that does not come back is unreachable when the wait is over") {
  World world;
  world.spec.wait.until = world.clock.now() + 20s;
  world.server.let_other_hold(1h);
  world.server.loses = [&](int call) {
    if (call == 2) world.server.out_until = world.clock.now() + 24h;
    return Fate::kArrives;
  };
  const auto answer = world.lock().acquire(world.control);
  REQUIRE(answer);
  CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kUnavailable);
  CHECK(world.clock.since_start() >= 20s);
  CHECK(world.clock.since_start() < 23s);
}

TEST_CASE("A server that was never reached is given up after the connection's time-out, and with -n at once") {
  for (const bool once : {false, true}) {
    World world;
    world.spec.wait.once = once;
    world.server.out_until = world.clock.now() + 24h;
    const auto answer = world.lock().acquire(world.control);
    REQUIRE(answer);
    CHECK(std::get<Refused>(*answer).error.code == ErrorCode::kUnavailable);
    if (once) CHECK(world.clock.since_start() == 0s);
    else CHECK(world.clock.since_start() >= 5s);
    CHECK(world.clock.since_start() < 8s);
  }
}

}  // namespace native_lock_test
