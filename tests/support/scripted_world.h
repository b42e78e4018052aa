// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "lib/lock/lease.h"
#include "lib/run/run_locked.h"
#include "tests/support/fake_clock.h"

namespace dlock::testing {

/// What happens at a point of a scripted run; times count from the start of the run.
struct Step {
  Duration at;
  std::function<void()> happens;
};

/// A world for run_locked() under a fake clock: a keeper that does as the script says, a command that obeys TERM or
/// does not, and signals. Everything that is done to the command is written down with its time.
class ScriptedWorld {
 public:
  ScriptedWorld() {
    clock.next_happening = [this] { return next(); };
    clock.on_stuck = [this] {
      gave_up = true;
      session.push(SessionGone{"the script is over"}), command.exit(0);
    };
  }

  struct Session final : LockSession {
    explicit Session(ScriptedWorld& world) : world_(world) {}
    void acquire(TimePoint) override { asked.push_back("acquire"); }
    void withdraw(TimePoint deadline) override {
      asked.push_back("withdraw");
      withdraw_deadline = deadline;
      if (answers) push(Withdrawn{});
    }
    void release(TimePoint deadline) override {
      asked.push_back("release");
      release_deadline = deadline;
      released_at = world_.clock.since_start();
      if (answers) push(Released{});
    }
    void ask_who() override { asked.push_back("who"); }
    void command_ended(int wait_status) override { told_status = wait_status; }
    void add_interest(std::vector<pollfd>&) const override {}
    std::optional<TimePoint> wake_at() const override { return std::nullopt; }
    std::optional<SessionEvent> next_event(TimePoint) override {
      if (events.empty()) return std::nullopt;
      SessionEvent event = std::move(events.front());
      events.pop_front();
      return event;
    }
    Result<void> detach(const DetachSpec&) override { return {}; }
    void push(SessionEvent event) { events.push_back(std::move(event)); }

    bool answers = true;  ///< false: a keeper that hangs when asked to withdraw or release
    std::vector<std::string> asked;
    std::deque<SessionEvent> events;
    TimePoint withdraw_deadline{};
    TimePoint release_deadline{};
    std::optional<Duration> released_at;
    std::optional<int> told_status;  ///< how the command ended, as the keeper heard it

   private:
    ScriptedWorld& world_;
  };

  struct Sent {
    int signal;
    bool tree;
    Duration at;
    bool operator==(const Sent&) const = default;
  };

  struct FakeCommand final : LockedCommand {
    explicit FakeCommand(ScriptedWorld& world) : world_(world) {}
    SupervisorEvent start(const StartContext&) override {
      if (start_error) return CommandNotStarted{*start_error, 127};
      started_at = world_.clock.since_start();
      alive = true;
      if (runs_for) world_.at(*started_at + *runs_for, [this] { exit(0); });
      return CommandStarted{};
    }
    pid_t pid() const override { return 911; }
    void add_interest(std::vector<pollfd>&) const override {}
    std::optional<CommandEnded> ended() override { return std::exchange(end_, std::nullopt); }
    void signal(int number) override { sent.push_back({number, false, world_.clock.since_start()}), deliver(number); }
    void signal_tree(int number) override {
      sent.push_back({number, true, world_.clock.since_start()}), deliver(number);
    }
    bool tree_gone() override { return !stray; }
    bool sent_by_it(pid_t sender) const override { return sender == 911; }
    bool is_in_our_group() const override { return in_our_group; }

    bool has_news() const { return end_.has_value(); }
    void exit(int wait_status, bool guard_killed = false) {
      if (!alive) return;
      alive = false;
      end_ = CommandEnded{wait_status, guard_killed};
      ended_at = world_.clock.since_start();
    }
    void deliver(int number) {
      if (number == SIGTSTP && on_stop) on_stop();
      if (number == SIGKILL) exit(SIGKILL), stray = false;
      if (number == SIGTERM && obeys_after)
        world_.at(world_.clock.since_start() + *obeys_after, [this] { exit(SIGTERM); });
    }

    std::function<void()> on_stop;  ///< it has been sent SIGTSTP; we are about to stop, too
    std::optional<Error> start_error;
    std::optional<Duration> runs_for;
    std::optional<Duration> obeys_after = Duration(0);  ///< nullopt: ignores TERM
    bool stray = false;                                 ///< has a descendant that only KILL ends
    bool alive = false;
    std::optional<Duration> started_at;
    std::optional<Duration> ended_at;
    std::vector<Sent> sent;
    bool in_our_group = true;

   private:
    ScriptedWorld& world_;
    std::optional<CommandEnded> end_;
  };

  struct Signals final : SignalInbox {
    int fd() const override { return -1; }
    std::optional<ReceivedSignal> next() override {
      if (queue.empty()) return std::nullopt;
      const ReceivedSignal signal = queue.front();
      queue.pop_front();
      return signal;
    }
    std::deque<ReceivedSignal> queue;
  };

  struct Observer final : RunObserver {
    void waited() override { ++waited_calls; }
    void unrenewed(const std::string& why) override { doubts.push_back(why); }
    void lost(const SupervisorState& s, pid_t) override {
      losses.push_back(s.lost_why);
      if (on_loss) on_loss();
    }
    void release_unconfirmed(const std::string& why, const SupervisorState&) override { unconfirmed.push_back(why); }
    std::function<void()> on_loss;
    int waited_calls = 0;
    std::vector<std::string> doubts;
    std::vector<std::string> losses;
    std::vector<std::string> unconfirmed;
  };

  void at(Duration when, std::function<void()> happens) { steps.push_back({when, std::move(happens)}); }

  /// A grant or renewal that was asked for at `sent` and arrives at `arrives`.
  void grant(Duration sent, Duration arrives) {
    at(arrives, [this, sent] {
      const auto name = LockName::parse("k");
      session.push(Granted{{{*name, Owner::random(), FencingToken(7), "fake:"}}, deadline(sent)});
    });
  }
  void grant_without_deadline(Duration arrives) {
    at(arrives, [this] {
      const auto name = LockName::parse("k");
      session.push(Granted{{{*name, Owner::random(), FencingToken(7), "fake:"}}, std::nullopt});
    });
  }
  void renew(Duration sent, Duration arrives) {
    at(arrives, [this, sent] { session.push(Renewed{deadline(sent)}); });
  }
  void signal(Duration when, ReceivedSignal received) {
    at(when, [this, received] { signals.queue.push_back(received); });
  }
  TimePoint deadline(Duration sent) const { return lease_deadline(FakeClock::start() + sent, policy.ttl); }

  SupervisorState run() {
    play_due();
    return run_locked(clock, policy, session, command, signals, observer);
  }

  FakeClock clock;
  SupervisionPolicy policy;
  Session session{*this};
  FakeCommand command{*this};
  Signals signals;
  Observer observer;
  std::vector<Step> steps;
  bool gave_up = false;  ///< nothing would ever have happened again

 private:
  /// The clock is about to wait: the next step's time; at that time the step is played when the clock is asked again.
  std::optional<TimePoint> next() {
    play_due();
    if (!session.events.empty() || !signals.queue.empty() || command.has_news()) return clock.now();
    std::optional<TimePoint> first;
    for (const Step& step : steps) first = earlier(first, FakeClock::start() + step.at);
    return first;
  }
  void play_due() {
    for (std::size_t i = 0; i < steps.size();) {
      if (FakeClock::start() + steps[i].at > clock.now()) {
        ++i;
        continue;
      }
      const auto happens = std::move(steps[i].happens);
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
      happens();
      i = 0;
    }
  }
};

}  // namespace dlock::testing
