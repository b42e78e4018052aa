// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/wiring/lock_plan.h"
#include "lib/base/runtime.h"
#include "lib/history/event_log.h"
#include "lib/run/run_locked.h"

namespace dlock {

/// An event of this moment and this process. What belongs to one hold (owner, token and so on) is left for the caller
/// to fill in.
Event new_event(Event::Kind kind, const LockName& key, const std::string& store, const std::string& reason,
                const Runtime& runtime);
/// The same of a lock that is asked for, and of one that was taken for `spec`.
Event new_event(Event::Kind kind, const LockSpec& spec, const std::string& store, const Runtime& runtime);
Event new_event(Event::Kind kind, const HeldLock& lock, const LockSpec& spec, const Runtime& runtime);
/// Records what this process has done to each of `others`, who hold `name` in `store`, or did.
void record_of_others(Event::Kind kind, const LockName& name, const std::string& store,
                      const std::vector<Participant>& others, const Options& options, const Runtime& runtime);
/// Records what this process has done to the lease without a process that `owner` has, or had, on the key of `options`,
/// or to a slot of that key that has run.
void record_lease(Event::Kind kind, const std::string& store, const std::string& owner, FencingToken token,
                  const Options& options, const Runtime& runtime);

/// Records what happens to the locks of one command (--events). `shown` gets every call that this one gets.
class Recorder final : public RunObserver {
 public:
  Recorder(const LockPlan& plan, const Runtime& runtime, RunObserver& shown);

  /// Before each run_locked(), with the store that it will ask: the first one, or a fallback.
  void begin(const std::string& store);
  /// After each run_locked(), with its result.
  void finish(const SupervisorState& s);

  void asks(const std::string& server) override { shown_.asks(server); }
  bool waiting(TimePoint now) override;
  void told_who(const LockState& state, TimePoint now) override;
  void unreached(const std::string& why, TimePoint now) override;
  void reached() override;
  std::optional<TimePoint> wake_at() const override;
  void waited() override { shown_.waited(); }
  void granted(const SupervisorState& s) override;
  void started(pid_t command) override;
  void unrenewed(const std::string& why) override;
  void signalled(int signal, const SupervisorState& s) override;
  void warned(const std::string& warning) override { shown_.warned(warning); }
  void lost(const SupervisorState& s, pid_t command) override;
  void overheld(const SupervisorState& s, pid_t command) override;
  void release_unconfirmed(const std::string& why, const SupervisorState& s) override;

 private:
  Event event(Event::Kind kind, const LockSpec& spec) const;
  Event event(Event::Kind kind, const HeldLock& lock) const;
  void finish_asking(const SupervisorState& s);
  void finish_holding(const SupervisorState& s);
  Duration waited_until(TimePoint end) const { return end - started_; }

  const LockPlan& plan_;
  const Runtime& runtime_;
  RunObserver& shown_;
  EventLog log_;
  TimePoint started_;
  std::optional<TimePoint> ask_at_;  ///< when to ask who holds it, if `shown` does not ask before
  bool said_waiting_ = false;
  std::string store_;
  std::vector<HeldLock> locks_;
  pid_t command_ = 0;
  int last_signal_ = 0;
  std::string why_signalled_;
  std::string why_unconfirmed_;
};

}  // namespace dlock
