// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/mysql/connection/servers.h"
#include "lib/base/result.h"
#include "lib/lock/lock_spec.h"

namespace dlock::mysql {

/// How one acquisition waits: how long, on what, and what it answers meanwhile. Single-threaded.
class Waiter {
 public:
  /// Whom it waits for, asked beside the connection that waits, within a second.
  using Look = std::function<Result<LockState>()>;

  /// `spec`, `clock` and `servers` outlive it.
  Waiter(const LockSpec& spec, Clock& clock, Servers& servers, Look look)
      : spec_(spec), clock_(clock), servers_(servers), look_(std::move(look)) {}

  /// When an attempt that begins now has waited long enough for a server.
  TimePoint attempt_until();
  void reached() { out_since_.reset(), reached_ = true; }  ///< a server has answered

  /// False if `error` may pass, and there is time to see whether it does. A server that cannot be reached is tried
  /// again for the connection's time-out; one that had been reached for as long as the wait lasts, unless tries are
  /// counted.
  bool outlived(const Error& error);

  void count() { ++attempts_; }  ///< an attempt that was answered
  bool is_over() const;          ///< the WaitPolicy allows no further attempt

  /// These two end early when control wants it, and answer "who" meanwhile. False: stop.
  bool wait_until(TimePoint until, Control& control);
  bool pause_for_retry(Control& control);
  bool pause_between_tries(Control& control);

  /// Waits for the outcome of what was begun on the connection. nullopt: control wants it to end, or `until` has come;
  /// then the connection is gone, and its session `id` on the server too.
  std::optional<Outcome> wait_on_server(std::uint64_t id, TimePoint until, Control& control);

  /// When a wait of at most `longest` in the queue of the server ends.
  TimePoint queue_until(Duration longest) const;

 private:
  void answer_who(Control& control);

  const LockSpec& spec_;
  Clock& clock_;
  Servers& servers_;
  const Look look_;
  bool outlives_outages() const { return reached_ && spec_.wait.outlives_outages(); }

  int attempts_ = 0;
  bool reached_ = false;
  std::optional<TimePoint> out_since_;  ///< the first attempt that reached nobody, of those in a row
};

/// When an attempt that begins `now`, of those that have reached nobody since `since`, gives up on a silent server:
/// after the connection's time-out, and not long after the wait is over.
TimePoint attempt_end(const WaitPolicy& wait, TimePoint since, TimePoint now);

}  // namespace dlock::mysql
