// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "cmd/show/contention.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/run/run_locked.h"

namespace dlock {

/// What a run says of its locks, and when.
struct Telling {
  std::vector<LockName> keys;
  When progress = When::kAuto;
  std::optional<Duration> wait;  ///< how long it waits at most; nullopt: for ever
  std::string ask_again;         ///< of a sale: the command line that finds out whether it was sold; else empty
};

/// The view of a run on stderr. On a terminal the wait is one line, rewritten twice a second and wiped at its end,
/// which names a server that does not answer; elsewhere a plain line after 1 s, 30 s, 2 m and 10 m, and one for each
/// beginning and end of an outage. A wait that was announced, on a terminal for a second, ends with "got KEY after 3
/// s".
class Progress final : public RunObserver {
 public:
  Progress(const Telling& telling, const SupervisionPolicy& supervision, const Runtime& runtime);

  void asks(const std::string& server) override;
  bool waiting(TimePoint now) override;
  void told_who(const LockState& state, TimePoint now) override;
  void unreached(const std::string& why, TimePoint now) override;
  void reached() override;
  std::optional<TimePoint> wake_at() const override;
  void waited() override;
  void granted(const SupervisorState& s) override;
  void warned(const std::string& warning) override;
  void lost(const SupervisorState& s, pid_t command) override;
  void overheld(const SupervisorState& s, pid_t command) override;
  void release_unconfirmed(const std::string& why, const SupervisorState& s) override;

 private:
  enum class Manner { kNone, kTerminal, kPlain };

  OwnWait own_wait(TimePoint now) const;
  void draw_silence(TimePoint now);
  void tell_of_outage(const std::string& what, const char* event);

  const Telling& telling_;
  const SupervisionPolicy& supervision_;
  const Runtime& runtime_;
  Manner manner_;
  TimePoint started_;
  std::optional<TimePoint> next_;
  int shown_ = 0;           ///< lines so far
  std::string server_;      ///< that is asked; empty: none, or it cannot say whether it is there
  int unanswered_ = 0;      ///< questions to it, one after the other
  bool met_ = false;        ///< it has answered one
  bool announced_ = false;  ///< a reader waits for the end of this wait
  std::string outage_;      ///< why no store has answered for a while; empty: one answers
  TerminalLine line_;
};

/// Why the lock was lost, or who has asked for it.
std::string loss_text(const SupervisorState& s);

}  // namespace dlock
