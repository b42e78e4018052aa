// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cmd/options/options.h"
#include "lib/base/runtime.h"
#include "lib/run/run_locked.h"

namespace dlock {

/// What people see of a run on stderr: whom we wait for, that the lock was lost, that the release is not certain.
/// Waiting on a terminal: one line, rewritten twice a second, wiped when the waiting is over. Elsewhere a plain line
/// after 1 s, 30 s, 2 m and 10 m.
class Progress final : public RunObserver {
 public:
  Progress(const Options& options, const Runtime& runtime);

  bool waiting(TimePoint now) override;
  void told_who(const LockState& state, TimePoint now) override;
  std::optional<TimePoint> wake_at() const override;
  void waited() override;
  void warned(const std::string& warning) override;
  void lost(const std::string& why, const SupervisorState& s, pid_t command) override;
  void overheld(const SupervisorState& s, pid_t command) override;
  void release_unconfirmed(const std::string& why, const SupervisorState& s) override;

 private:
  enum class Manner { kNone, kTerminal, kPlain };

  const Options& options_;
  const Runtime& runtime_;
  Manner manner_;
  TimePoint started_;
  std::optional<TimePoint> next_;
  int shown_ = 0;  ///< lines so far
  bool on_screen_ = false;
};

}  // namespace dlock
