// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/options/options.h"
#include "cmd/wiring/compose.h"
#include "lib/base/runtime.h"
#include "lib/history/event_log.h"
#include "lib/run/run_locked.h"

namespace dlock {

/// An event that is about nobody's hold yet: now, of this process, with --reason.
Event new_event(Event::Kind kind, const LockName& key, const std::string& store, const Options& options,
                const Runtime& runtime);

/// Writes down what happens to the locks of one call (--events), and tells `shown` all that it is told itself. Stands
/// between the two only when events are wanted.
class Recorder final : public RunObserver {
 public:
  Recorder(const Options& options, const Runtime& runtime, Intent intent, RunObserver& shown);

  /// From now on this store is asked.
  void begin(const std::string& store);
  /// It is over, with this result.
  void finish(const SupervisorState& s);

  void asks(const std::string& server) override { shown_.asks(server); }
  bool waiting(TimePoint now) override;
  void told_who(const LockState& state, TimePoint now) override;
  void unreached(const std::string& why, TimePoint now) override;
  void reached() override;
  std::optional<TimePoint> wake_at() const override;
  void waited() override { shown_.waited(); }
  void granted(const SupervisorState& s) override;
  void unrenewed(const std::string& why) override;
  void signalled(int signal, const SupervisorState& s) override;
  void warned(const std::string& warning) override { shown_.warned(warning); }
  void lost(const std::string& why, const SupervisorState& s, pid_t command) override;
  void overheld(const SupervisorState& s, pid_t command) override;
  void release_unconfirmed(const std::string& why, const SupervisorState& s) override;

 private:
  Event event(Event::Kind kind, const LockName& key) const;
  Event event(Event::Kind kind, const HeldLock& lock) const;
  void finish_asking(const SupervisorState& s);
  void finish_holding(const SupervisorState& s);
  Duration waited_until(TimePoint end) const { return end - started_; }

  const Options& options_;
  const Runtime& runtime_;
  const Intent intent_;
  RunObserver& shown_;
  EventLog log_;
  TimePoint started_;
  std::optional<TimePoint> ask_at_;  ///< who holds it, if nobody else wants to know
  bool said_waiting_ = false;
  std::string store_;
  std::vector<HeldLock> locks_;
  int last_signal_ = 0;
  std::string why_signalled_;
  std::string why_unconfirmed_;
};

}  // namespace dlock
