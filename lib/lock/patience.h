// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// Time that a store has to answer for the first time: 5 s unless one was chosen.
Duration connect_timeout_of(const WaitPolicy& policy);

/// When whoever obeys Patience has answered and undone what it began, of a wait that begins `now`; nullopt: no limit.
std::optional<TimePoint> answer_due(const WaitPolicy& policy, TimePoint now);

/// Limits of a WaitPolicy, from moment to moment: the one place that reads it. Pure: it is given the time, and what
/// became of the attempts. Single-threaded.
///
/// connect_timeout is for the first contact. A waiter that was answered once waits through an outage for as long as it
/// was told to wait, but not with counted tries, and not where there is something else to try.
class Patience {
 public:
  explicit Patience(const WaitPolicy& policy) : policy_(policy) {}

  bool is_once() const { return policy_.once; }  ///< -n
  /// A place in a queue is worth having: there is no limit to the attempts.
  bool queues() const { return !policy_.once && policy_.tries == 0; }
  std::optional<TimePoint> until() const { return policy_.until; }
  bool is_over(TimePoint now) const { return policy_.until && now >= *policy_.until; }
  Duration connect_timeout() const { return connect_timeout_of(policy_); }

  /// When the pause of counted tries ends, or the wait does; nullopt: no end but that of the wait in a queue.
  std::optional<TimePoint> wait_end(TimePoint now) const;

  /// When an attempt that begins `now` gives up on a server that is silent: with the wait, or up to a second later.
  /// Never in less than 40 ms.
  TimePoint attempt_end(TimePoint now) const;

  /// When a question about the lock, begun `now`, gives up: after `budget`, and with the wait; one that is asked after
  /// the wait, a second after it. Never in less than 100 ms.
  TimePoint look_end(TimePoint now, Duration budget) const;
  /// The same for what gives back what an attempt may have taken: a second after the wait at the latest.
  TimePoint withdraw_end(TimePoint now, Duration budget) const;

  /// The store has answered a question of the present attempt: it is there. That is no answer to the attempt, so an
  /// outage goes on: a store that answers reads and refuses writes is out of order, is told so, and gets no more time
  /// than a first contact. Nor does one that refuses attempts (Error::outage).
  void heard() { met_ = heard_ = true; }

  /// The store has answered the attempt, whatever it said: an outage is over. Never after a mere question.
  void reached();

  /// There was no answer to the attempt that began at `began`, but `error`.
  void failed(const Error& error, TimePoint began, TimePoint now);

  /// The store has answered that another owner holds the lock. False: that was the last attempt.
  bool may_try_again(TimePoint now);

  /// No server has been reached since `since`.
  void unreached(TimePoint since);

  /// Instead of an answer there is `error`, after failed() or unreached(). True: it may pass, and there is time to see
  /// whether it does.
  bool outlives(const Error& error, TimePoint now) const;

  /// How long a server may be silent without being taken for unreachable.
  void outlives_silence_of(Duration length) { silence_ = length; }

  /// How long an outage may last that must not be waited through: the connection's time-out, or the silence.
  Duration outage_limit() const;
  /// Whether the present outage has lasted longer than that.
  bool is_long_outage(TimePoint now) const;
  /// Whether the present outage is long enough to be reported: a second, or 5 s before the first answer.
  bool is_worth_telling(TimePoint now) const;

 private:
  bool refuses_attempts(TimePoint now) const { return refuses_since_ && now >= *refuses_since_ + outage_limit(); }
  bool waits_through_outages() const { return met_ && policy_.tries == 0 && !policy_.has_fallback; }

  WaitPolicy policy_;
  int tries_ = 0;       ///< attempts that were answered
  bool met_ = false;    ///< the store has answered once
  bool heard_ = false;  ///< in the present attempt
  Duration silence_{0};
  std::optional<TimePoint> out_since_;      ///< since when no attempt was answered
  std::optional<TimePoint> refuses_since_;  ///< since when each was refused, or failed after an answered question
};

}  // namespace dlock
