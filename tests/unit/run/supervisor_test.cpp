// SPDX-License-Identifier: Apache-2.0
#include "lib/run/supervisor.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <map>
#include <string>

#include "lib/lock/lease.h"

namespace supervisor_test {

using namespace dlock;
using namespace std::chrono_literals;

namespace {

const TimePoint kStart{1000h};
const TimePoint kDeadline = lease_deadline(kStart, 30s);
constexpr int kExitedZero = 0;

SupervisionPolicy policy_with(OnLost::Kind on_lost, Duration at_least = 0s) {
  SupervisionPolicy policy;
  policy.on_lost = {on_lost, on_lost == OnLost::Kind::kSignal ? SIGUSR1 : 0};
  policy.at_least = at_least;
  return policy;
}

const SupervisionPolicy kTermPolicy = policy_with(OnLost::Kind::kTerm);

HeldLock some_lock() { return {*LockName::parse("k"), Owner::random(), FencingToken(7), "fake:"}; }
Granted granted_until(TimePoint deadline) { return {{some_lock()}, deadline}; }
Granted granted_for_ever() { return {{some_lock()}, std::nullopt}; }

/// What was decided, a word for each action: "lost tree-15".
std::string text_of(const std::vector<Action>& actions) {
  using Kind = Action::Kind;
  static const std::map<Kind, std::string> words{{Kind::kStartCommand, "start"},   {Kind::kSignalCommand, "signal-"},
                                                 {Kind::kSignalTree, "tree-"},     {Kind::kWithdraw, "withdraw"},
                                                 {Kind::kRelease, "release"},      {Kind::kLeave, "leave"},
                                                 {Kind::kStopSelf, "stop"},        {Kind::kSayLost, "lost"},
                                                 {Kind::kSayOverheld, "overheld"}, {Kind::kWarn, "warn"}};
  std::string text;
  for (const Action& action : actions) {
    text += (text.empty() ? "" : " ") + words.at(action.kind);
    if (text.back() == '-') text += std::to_string(action.signal);
  }
  return text;
}

SupervisorState acquiring() { return {}; }

SupervisorState granted(const Granted& granted) {
  SupervisorState s;
  decide(kTermPolicy, s, SessionEvent(granted), kStart);
  return s;
}

SupervisorState running(const Granted& what) {
  SupervisorState s = granted(what);
  decide(kTermPolicy, s, TimePassed{}, kStart);
  decide(kTermPolicy, s, CommandStarted{}, kStart);
  return s;
}

SupervisorState bound(SupervisorState s) {
  s.locks.front().bound = true;
  return s;
}

SupervisorState ending() {
  SupervisorState s = running(granted_until(kDeadline));
  decide(kTermPolicy, s, SessionEvent(Lost{"stolen"}), kStart + 1s);
  return s;
}

SupervisorState killing() {
  SupervisorState s = ending();
  decide(kTermPolicy, s, TimePassed{}, kStart + 6s);
  return s;
}

SupervisorState releasing() {
  SupervisorState s = running(granted_until(kDeadline));
  decide(kTermPolicy, s, CommandEnded{kExitedZero}, kStart + 1s);
  return s;
}

SupervisorState withdrawing() {
  SupervisorState s;
  decide(kTermPolicy, s, SignalSeen{SIGINT, true, false}, kStart);
  return s;
}

SupervisorState too_late() { return granted(granted_until(kStart + 2s)); }

SupervisorState renewed(SupervisorState s) {
  decide(kTermPolicy, s, SessionEvent(Renewed{kDeadline}), kStart + 1s);
  return s;
}

struct Row {
  const char* promise;
  SupervisorState before;
  SupervisorEvent event;
  Duration after_start;
  const char* actions;
  Phase phase;
};

void check_rows(const SupervisionPolicy& policy, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.promise);
    SupervisorState s = row.before;
    CHECK(text_of(decide(policy, s, row.event, kStart + row.after_start)) == row.actions);
    CHECK(s.phase == row.phase);
  }
}

SignalSeen by_kill(int number) { return {number, false, false}; }
SignalSeen by_terminal(int number) { return {number, true, false}; }

}  // namespace

TEST_CASE("While the lock is waited for") {
  check_rows(
      kTermPolicy,
      {
          {"a grant alone starts nothing: its loss may be the next word", acquiring(),
           SessionEvent(granted_until(kDeadline)), 0s, "", Phase::kGranted},
          {"a grant behind which nothing waits starts the command", granted(granted_until(kDeadline)), TimePassed{}, 0s,
           "start", Phase::kRunning},
          {"one without deadline starts it too", granted(granted_for_ever()), TimePassed{}, 0s, "start",
           Phase::kRunning},
          {"a loss right behind the grant starts nothing", granted(granted_until(kDeadline)),
           SessionEvent(Lost{"freed"}), 0s, "lost", Phase::kDone},
          {"the session's end right behind it neither", granted(granted_until(kDeadline)),
           SessionEvent(SessionGone{"gone"}), 0s, "lost", Phase::kDone},
          {"less than a tenth of the lease left starts nothing", too_late(), TimePassed{}, 0s, "", Phase::kGranted},
          {"a refusal is the end", acquiring(), SessionEvent(Refused{{ErrorCode::kBusy, "held"}, {}}), 0s, "",
           Phase::kDone},
          {"a keeper that dies is the end", acquiring(), SessionEvent(SessionGone{"gone"}), 0s, "", Phase::kDone},
          {"INT withdraws", acquiring(), by_terminal(SIGINT), 0s, "withdraw", Phase::kWithdrawing},
          {"TERM withdraws", acquiring(), by_kill(SIGTERM), 0s, "withdraw", Phase::kWithdrawing},
          {"a resized window is nothing", acquiring(), by_terminal(SIGWINCH), 0s, "", Phase::kAcquiring},
          {"being continued is nothing", acquiring(), by_kill(SIGCONT), 0s, "", Phase::kAcquiring},
          {"^Z stops us where we stand", acquiring(), by_terminal(SIGTSTP), 0s, "stop", Phase::kAcquiring},
          {"withdrawn is the end", withdrawing(), SessionEvent(Withdrawn{}), 0s, "", Phase::kDone},
          {"a refusal that crossed is the end", withdrawing(), SessionEvent(Refused{{ErrorCode::kBusy, "held"}, {}}),
           0s, "", Phase::kDone},
          {"a withdrawal without answer ends after 1 s", withdrawing(), TimePassed{}, 1s, "", Phase::kDone},
          {"and not before", withdrawing(), TimePassed{}, 999ms, "", Phase::kWithdrawing},
          {"a renewal in time starts the command", renewed(too_late()), TimePassed{}, 1s, "start", Phase::kRunning},
          {"no renewal in time is a loss before the start", too_late(), TimePassed{}, 1s, "lost release",
           Phase::kReleasing},
          {"a signal gives the hardly held lock back", too_late(), by_kill(SIGTERM), 0s, "release", Phase::kReleasing},
      });
}

TEST_CASE("While the command runs") {
  const SupervisorState s = running(granted_until(kDeadline));
  check_rows(
      kTermPolicy,
      {
          {"its end releases", s, CommandEnded{kExitedZero}, 1s, "release", Phase::kReleasing},
          {"a signal by kill(2) is forwarded", s, by_kill(SIGTERM), 1s, "signal-15", Phase::kRunning},
          {"one of the terminal is not sent twice", s, by_terminal(SIGINT), 1s, "", Phase::kRunning},
          {"^Z stops us alone, the command has it", s, by_terminal(SIGTSTP), 1s, "stop", Phase::kRunning},
          {"TSTP by kill(2) stops both", s, by_kill(SIGTSTP), 1s, "signal-20 stop", Phase::kRunning},
          {"TSTP from the command itself is not sent back", s, SignalSeen{SIGTSTP, false, true}, 1s, "stop",
           Phase::kRunning},
          {"the store says lost: TERM to the whole tree at once", s, SessionEvent(Lost{"stolen"}), 1s, "lost tree-15",
           Phase::kEnding},
          {"no renewal: nothing happens before deadline - margin - kill_after", s, TimePassed{}, 23697ms, "",
           Phase::kRunning},
          {"no renewal: TERM at that point", s, TimePassed{}, 23698ms, "lost tree-15", Phase::kEnding},
          {"everything was stopped beyond the ttl: KILL first of all", s, TimePassed{}, 2h, "lost tree-9",
           Phase::kKilling},
          {"the keeper dies: the lease still counts", s, SessionEvent(SessionGone{"gone"}), 1s, "", Phase::kRunning},
          {"the keeper dies to which the lock is bound", bound(s), SessionEvent(SessionGone{"gone"}), 1s,
           "lost tree-15", Phase::kEnding},
          {"a keeper that kept a lock without deadline dies: lost", running(granted_for_ever()),
           SessionEvent(SessionGone{"gone"}), 1s, "lost tree-15", Phase::kEnding},
          {"a revoked kernel lock: TERM at once", running(granted_for_ever()), SessionEvent(Lost{"revoked"}), 1h,
           "lost tree-15", Phase::kEnding},
          {"it could not be executed: the lock is given back", s, CommandNotStarted{{ErrorCode::kInvalid, "no"}, 127},
           0s, "release", Phase::kReleasing},
      });
}

TEST_CASE("While the command is being ended") {
  check_rows(
      kTermPolicy,
      {
          {"KILL follows after kill_after", ending(), TimePassed{}, 6s, "tree-9", Phase::kKilling},
          {"not before", ending(), TimePassed{}, 5999ms, "", Phase::kEnding},
          {"the command's end is not enough: descendants may live", ending(), CommandEnded{SIGTERM}, 2s, "",
           Phase::kEnding},
          {"a renewal that comes now changes nothing", ending(), SessionEvent(Renewed{kStart + 100s}), 2s, "",
           Phase::kEnding},
          {"signals are still forwarded", ending(), by_kill(SIGINT), 2s, "signal-2", Phase::kEnding},
          {"KILL is repeated for what forked meanwhile", killing(), TimePassed{}, 6050ms, "tree-9", Phase::kKilling},
          {"the tree counts as gone only after the command", killing(), TreeGone{}, 6s, "", Phase::kKilling},
      });
}

TEST_CASE("A command that was killed with its guard leaves the lock held until its descendants are killed, too") {
  const CommandEnded with_guard{SIGKILL, true};
  SupervisorState cut = running(granted_until(kDeadline));
  decide(kTermPolicy, cut, with_guard, kStart + 1s);
  SupervisorState lost = cut;
  decide(kTermPolicy, lost, SessionEvent(Lost{"stolen"}), kStart + 1s);
  check_rows(kTermPolicy,
             {
                 {"KILL to what is left, nothing released", running(granted_until(kDeadline)), with_guard, 1s, "tree-9",
                  Phase::kKilling},
                 {"while it is being ended in order, too", ending(), with_guard, 2s, "tree-9", Phase::kKilling},
                 {"KILL is repeated", cut, TimePassed{}, 1050ms, "tree-9", Phase::kKilling},
                 {"nothing is left: released", cut, TreeGone{}, 2s, "release", Phase::kReleasing},
                 {"a loss meanwhile is said", cut, SessionEvent(Lost{"stolen"}), 1s, "lost", Phase::kKilling},
                 {"and counts", lost, TreeGone{}, 2s, "", Phase::kDone},
             });
  check_rows(policy_with(OnLost::Kind::kTerm, 20s),
             {{"--at-least still holds", cut, TreeGone{}, 2s, "leave", Phase::kReleasing}});
  decide(kTermPolicy, cut, TreeGone{}, kStart + 2s);
  decide(kTermPolicy, cut, SessionEvent(Released{}), kStart + 2s);
  CHECK(cut.outcome == Outcome::kRan);
  CHECK(cut.command_status == SIGKILL);
}

TEST_CASE("While the lock is given back") {
  check_rows(
      kTermPolicy,
      {
          {"released is the end", releasing(), SessionEvent(Released{}), 1s, "", Phase::kDone},
          {"what cannot be confirmed is a warning", releasing(),
           SessionEvent(ReleaseUnconfirmed{{ErrorCode::kUnavailable, "cut"}}), 1s, "warn", Phase::kDone},
          {"silence is one after 5 s", releasing(), TimePassed{}, 6s, "warn", Phase::kDone},
          {"and not before", releasing(), TimePassed{}, 5999ms, "", Phase::kReleasing},
          {"a signal does not cut it short", releasing(), by_kill(SIGTERM), 1s, "", Phase::kReleasing},
          {"a loss found out now is a loss", releasing(), SessionEvent(Lost{"stolen"}), 1s, "lost", Phase::kDone},
      });
}

TEST_CASE("The release never waits longer than the lease lasts, and never under a spent deadline") {
  SupervisorState s = running(granted_until(kStart + 8s));
  auto actions = decide(kTermPolicy, s, CommandEnded{kExitedZero}, kStart + 6s);
  CHECK(actions.back().deadline == kStart + 8s);
  s = running(granted_until(kStart + 30s));
  actions = decide(kTermPolicy, s, CommandEnded{kExitedZero}, kStart + 6s);
  CHECK(actions.back().deadline == kStart + 11s);
  s = ending();
  decide(kTermPolicy, s, CommandEnded{SIGTERM}, kStart + 40s);
  CHECK(s.phase == Phase::kEnding);
}

TEST_CASE("After a loss that leaves something held, and after its command, that is given back; it is said once") {
  SupervisorState s = running(granted_until(kDeadline));
  CHECK(text_of(decide(kTermPolicy, s, SessionEvent(Lost{"stolen", false}), kStart + 1s)) == "lost tree-15");
  decide(kTermPolicy, s, CommandEnded{SIGTERM}, kStart + 2s);
  CHECK(text_of(decide(kTermPolicy, s, TreeGone{}, kStart + 2s)) == "release");
  CHECK(text_of(decide(kTermPolicy, s, SessionEvent(Lost{"stolen too"}), kStart + 2s)) == "");
  CHECK(s.phase == Phase::kDone);
  CHECK(s.outcome == Outcome::kLost);
}

TEST_CASE("A keeper that dies beside others that live: what they hold is given back, without confirmation") {
  SupervisorState s = running(granted_until(kDeadline));
  decide(kTermPolicy, s, SessionEvent(SessionGone{"gone", false}), kStart + 1s);
  CHECK(text_of(decide(kTermPolicy, s, CommandEnded{kExitedZero}, kStart + 2s)) == "release");
}

TEST_CASE("--on-lost decides what the command gets to see") {
  const SupervisorState s = running(granted_until(kDeadline));
  const SessionEvent lost = Lost{"stolen"};
  check_rows(policy_with(OnLost::Kind::kKill), {{"kill: KILL at once", s, lost, 1s, "lost tree-9", Phase::kKilling}});
  check_rows(policy_with(OnLost::Kind::kSignal),
             {{"signal: that one, to it and its descendants, once", s, lost, 1s, "lost tree-10", Phase::kRunning}});
}

TEST_CASE("--on-lost signal: what was asked for is held until the command and all its descendants are gone") {
  const SupervisionPolicy policy = policy_with(OnLost::Kind::kSignal);
  const SessionEvent forced = Lost{"forced"};
  SupervisorState asked = running(granted_until(kDeadline));
  decide(policy, asked, SessionEvent(Lost{{}, false, "bob"}), kStart + 1s);
  SupervisorState rest = asked;
  decide(policy, rest, CommandEnded{kExitedZero}, kStart + 2s);
  SupervisorState taken = asked;
  decide(policy, taken, forced, kStart + 1s);
  check_rows(policy,
             {
                 {"the command's end is not enough", asked, CommandEnded{kExitedZero}, 2s, "", Phase::kRunning},
                 {"nor is that of what it has started", asked, TreeGone{}, 2s, "", Phase::kRunning},
                 {"both are", rest, TreeGone{}, 3s, "release", Phase::kReleasing},
                 {"nothing hurries what is left", rest, TimePassed{}, 2h, "", Phase::kRunning},
                 {"a signal that ends is passed on to it", rest, by_kill(SIGTERM), 3s, "tree-15", Phase::kRunning},
                 {"no other one is", rest, by_kill(SIGUSR2), 3s, "", Phase::kRunning},
                 {"one of the terminal is not sent twice", rest, by_terminal(SIGINT), 3s, "", Phase::kRunning},
                 {"taken away meanwhile: nothing is held for it", rest, forced, 3s, "", Phase::kDone},
                 {"taken away before: nor then", taken, CommandEnded{kExitedZero}, 2s, "", Phase::kDone},
                 {"the keeper dies meanwhile", rest, SessionEvent(SessionGone{"gone"}), 3s, "", Phase::kDone},
                 {"one of several dies: the others hold on", rest, SessionEvent(SessionGone{"gone", false}), 3s, "",
                  Phase::kRunning},
             });
  decide(policy, rest, SessionEvent(Renewed{kDeadline + 10s}), kStart + 10s);
  CHECK(rest.deadline == kDeadline + 10s);
  SupervisionPolicy limited = policy;
  limited.max_hold = 20s;
  CHECK(wake_at(limited, rest) == kStart + 20s);
  check_rows(limited, {{"--max-hold ends it", rest, TimePassed{}, 20s, "overheld tree-15", Phase::kEnding}});
  decide(policy, rest, TreeGone{}, kStart + 11s);
  decide(policy, rest, SessionEvent(Released{}), kStart + 11s);
  CHECK(rest.outcome == Outcome::kLost);
}

TEST_CASE("A lost lock is 79 whatever the command returned") {
  const auto outcome_after_loss = [](OnLost::Kind kind) {
    const SupervisionPolicy policy = policy_with(kind);
    SupervisorState s = running(granted_until(kDeadline));
    decide(policy, s, SessionEvent(Lost{"stolen"}), kStart + 1s);
    decide(policy, s, CommandEnded{kExitedZero}, kStart + 2s);
    decide(policy, s, TreeGone{}, kStart + 2s);
    REQUIRE(s.phase == Phase::kDone);
    return s.outcome;
  };
  CHECK(outcome_after_loss(OnLost::Kind::kTerm) == Outcome::kLost);
  CHECK(outcome_after_loss(OnLost::Kind::kKill) == Outcome::kLost);
  CHECK(outcome_after_loss(OnLost::Kind::kSignal) == Outcome::kLost);
}

TEST_CASE("--at-least leaves what is left of its time as a lease when the command has ended") {
  const SupervisionPolicy policy = policy_with(OnLost::Kind::kTerm, 20s);
  const SupervisorState run = running(granted_for_ever());
  SupervisorState leaving = run;
  const auto actions = decide(policy, leaving, CommandEnded{kExitedZero}, kStart + 1s);
  REQUIRE(text_of(actions) == "leave");
  CHECK(actions[0].deadline == kStart + 20s);
  SupervisorState inner = run;
  inner.locks.front().reentered = true;
  check_rows(
      policy,
      {
          {"what took longer is released", run, CommandEnded{kExitedZero}, 21s, "release", Phase::kReleasing},
          {"inside another run that one decides", inner, CommandEnded{kExitedZero}, 1s, "release", Phase::kReleasing},
          {"left", leaving, Left{}, 2s, "", Phase::kDone},
          {"not confirmed", leaving, Left{Error{ErrorCode::kUnavailable, "silent"}}, 2s, "warn", Phase::kDone},
          {"lost", leaving, Left{Error{ErrorCode::kLost, "stolen"}}, 2s, "lost", Phase::kDone},
      });
}

TEST_CASE(
    "--at-least of a lock that cannot be left is kept by dlock itself, until its time is over or a signal comes") {
  const SupervisionPolicy policy = policy_with(OnLost::Kind::kTerm, 20s);
  SupervisorState kept = running(granted_for_ever());
  decide(policy, kept, CommandEnded{kExitedZero}, kStart + 1s);
  decide(policy, kept, Left{Error{ErrorCode::kUnsupported, "only with a process"}}, kStart + 1s);
  CHECK(wake_at(policy, kept) == kStart + 20s);
  check_rows(policy, {
                         {"not yet over", kept, TimePassed{}, 19s, "", Phase::kReleasing},
                         {"over", kept, TimePassed{}, 20s, "release", Phase::kReleasing},
                         {"asked for", kept, SessionEvent(Lost{{}, false, "bob"}), 2s, "release", Phase::kReleasing},
                         {"taken away", kept, SessionEvent(Lost{"forced"}), 2s, "lost", Phase::kDone},
                         {"a signal", kept, by_kill(SIGTERM), 2s, "release", Phase::kReleasing},
                     });
  SupervisorState interrupted = kept;
  decide(policy, interrupted, by_kill(SIGTERM), kStart + 2s);
  decide(policy, interrupted, SessionEvent(Released{}), kStart + 2s);
  CHECK(interrupted.outcome == Outcome::kInterrupted);
}

TEST_CASE("--max-hold ends the command when its time, counted from the grant, is over") {
  SupervisionPolicy policy = kTermPolicy;
  policy.max_hold = 10s;
  const SupervisorState renewed_run = renewed(running(granted_until(kDeadline)));
  const auto after = [&](const SupervisorEvent& event, Duration when, SupervisorState s) {
    decide(policy, s, event, kStart + when);
    return s;
  };
  const SupervisorState over = after(TimePassed{}, 10s, renewed_run);
  const SupervisorState late = [] {  // started only when a renewal had come
    SupervisorState s = renewed(too_late());
    decide(kTermPolicy, s, TimePassed{}, kStart + 4s);
    return s;
  }();
  CHECK(wake_at(policy, renewed_run) == kStart + 10s);
  CHECK(wake_at(policy, running(granted_for_ever())) == kStart + 10s);
  check_rows(
      policy,
      {
          {"not before", renewed_run, TimePassed{}, 9999ms, "", Phase::kRunning},
          {"then TERM to the whole tree", renewed_run, TimePassed{}, 10s, "overheld tree-15", Phase::kEnding},
          {"also of a lock without deadline", running(granted_for_ever()), TimePassed{}, 10s, "overheld tree-15",
           Phase::kEnding},
          {"a start that had to wait moves nothing", late, TimePassed{}, 10s, "overheld tree-15", Phase::kEnding},
          {"an end just before is an end", renewed_run, CommandEnded{kExitedZero}, 9999ms, "release",
           Phase::kReleasing},
          {"KILL follows after kill_after", over, TimePassed{}, 15s, "tree-9", Phase::kKilling},
          {"not before", over, TimePassed{}, 14999ms, "", Phase::kEnding},
          {"the lock is given back when nothing is left of the command", after(CommandEnded{kExitedZero}, 11s, over),
           TreeGone{}, 11s, "release", Phase::kReleasing},
          {"a loss meanwhile is said, and hurries nothing", over, SessionEvent(Lost{"stolen"}), 11s, "lost",
           Phase::kEnding},
          {"the keeper's end is no loss under a lease that lasts", over, SessionEvent(SessionGone{"gone"}), 11s, "",
           Phase::kEnding},
          {"a lease that ends before it is a loss", running(granted_until(kStart + 15s)), TimePassed{}, 10s,
           "lost tree-15", Phase::kEnding},
      });
}

TEST_CASE("What --max-hold has ended is told apart from a loss, which counts for more, and from any other end") {
  SupervisionPolicy policy = kTermPolicy;
  policy.max_hold = 10s;
  const auto outcome = [&](const std::vector<SupervisorEvent>& meanwhile, const char* said) {
    SupervisorState s = running(granted_for_ever());
    decide(policy, s, TimePassed{}, kStart + 10s);
    for (const SupervisorEvent& event : meanwhile) decide(policy, s, event, kStart + 11s);
    decide(policy, s, CommandEnded{kExitedZero}, kStart + 12s);
    CHECK(text_of(decide(policy, s, TreeGone{}, kStart + 12s)) == said);
    if (s.phase == Phase::kReleasing) decide(policy, s, SessionEvent(Released{}), kStart + 12s);
    REQUIRE(s.phase == Phase::kDone);
    return s.outcome;
  };
  CHECK(outcome({}, "release") == Outcome::kOverheld);
  CHECK(outcome({by_kill(SIGTERM)}, "release") == Outcome::kOverheld);
  CHECK(outcome({SessionEvent(Lost{"stolen"})}, "") == Outcome::kLost);
  CHECK(outcome({SessionEvent(SessionGone{"gone"})}, "warn") == Outcome::kOverheld);
}

TEST_CASE("--max-hold ends what --on-lost lets go on without the lock") {
  SupervisionPolicy policy = policy_with(OnLost::Kind::kSignal);
  policy.max_hold = 10s;
  SupervisorState s = running(granted_until(kDeadline));
  decide(policy, s, SessionEvent(Lost{"stolen"}), kStart + 1s);
  CHECK(wake_at(policy, s) == kStart + 10s);
  CHECK(text_of(decide(policy, s, TimePassed{}, kStart + 10s)) == "overheld tree-15");
}

TEST_CASE("A keeper that ends before it has granted tells nothing about the store") {
  for (const ErrorCode code : {ErrorCode::kInternal, ErrorCode::kSystem}) {
    SupervisorState s;
    decide(kTermPolicy, s, SessionEvent(SessionGone{"the keeper died of SIGSEGV", true, code}), kStart);
    CHECK(s.outcome == Outcome::kRefused);
    CHECK(s.error->code == code);
  }
  CHECK(SessionGone{"gone"}.code == ErrorCode::kInternal);
}

TEST_CASE("A loss that nobody has said has the reason of the last renewal that was not confirmed") {
  const auto reason = [](const std::vector<SessionEvent>& events, Phase phase = Phase::kRunning) {
    SupervisorState s = running(granted_until(kDeadline));
    s.phase = phase;
    for (const SessionEvent& event : events) CHECK(decide(kTermPolicy, s, event, kStart + 10s).empty());
    const auto actions = decide(kTermPolicy, s, TimePassed{}, s.deadline.value());
    REQUIRE(!actions.empty());
    REQUIRE(actions[0].kind == Action::Kind::kSayLost);
    return s.lost_why;
  };
  CHECK(reason({}) == "no renewal came");
  CHECK(reason({Unrenewed{"timed out"}, Unrenewed{"refused"}}) == "refused");
  CHECK(reason({Unrenewed{"timed out"}, Renewed{kDeadline + 1s}}) == "no renewal came");
}

TEST_CASE("Whether a loss was said, or the lease ran down, is known") {
  const auto said = [](const std::vector<SupervisorEvent>& events) {
    SupervisorState s = running(granted_until(kDeadline));
    for (const SupervisorEvent& event : events) decide(kTermPolicy, s, event, kDeadline);
    CHECK(s.lost);
    return s.said_lost;
  };
  CHECK(said({SessionEvent(Lost{"asked for", false})}));
  CHECK(said({SessionEvent(Lost{"stolen"})}));
  CHECK_FALSE(said({TimePassed{}}));
  CHECK_FALSE(said({TimePassed{}, SessionEvent(Lost{"stolen"})}));
}

TEST_CASE("Only renewals move the deadline, and never backwards") {
  SupervisorState s = running(granted_until(kDeadline));
  decide(kTermPolicy, s, SessionEvent(Renewed{kDeadline + 10s}), kStart + 10s);
  CHECK(s.deadline == kDeadline + 10s);
  decide(kTermPolicy, s, SessionEvent(Renewed{kDeadline + 5s}), kStart + 11s);
  CHECK(s.deadline == kDeadline + 10s);
}

}  // namespace supervisor_test
