// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/families.h"
#include "backends/redis/deployment/names.h"
#include "backends/redis/deployment/replicas.h"
#include "lib/base/clock.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_errors.h"

namespace dlock::redis {

struct AttemptGranted {
  FencingToken token;
  std::string slot = {};
  bool free_only = false;  ///< the answer where nothing is to be taken: the lock is free
};
struct AttemptBusy {
  std::optional<Duration> remaining;  ///< until the lock may be free without a message; nullopt: not known
  int place = 0;                      ///< in the queue, 0 = first
  std::string arrival = {};           ///< of the native layout, what keeps the place; empty: not queued
  bool foreign = false;               ///< another client's lock, whose release has no message
  bool mute = false;                  ///< the server refuses PUBLISH: releases have no message
};
/// To one attempt.
using AttemptAnswer = std::variant<AttemptGranted, AttemptBusy>;

/// One lock in one layout, for LayoutLock and LayoutAdmin. Each call is one EVAL, and after it the check of the
/// replicas if one is demanded. Unavailable: the outcome is unknown; after any other error nothing was changed.
/// `control` as in Deployment::call. Single-threaded.
class Layout {
 public:
  using Answer = std::vector<Reply>;  ///< the elements of a script's reply; at least one

  virtual ~Layout() = default;

  /// Renews the lease of `owner` for `ttl`; shortens it only if `exact`, and then notes `ran` (LeaveSpec). Returns the
  /// holder's token, 0 if the layout has none. Lost if `owner` does not hold the lock; Unavailable also if too few
  /// replicas have confirmed it.
  virtual Result<FencingToken> renew(const Owner& owner, Duration ttl, bool exact, const std::string& ran,
                                     TimePoint until, Control* control) = 0;
  /// Removes `entry` (nullptr: all entries) from the hold of `owner`, which ends with the last one, and from the queue.
  /// Lost if `owner` did not hold the lock.
  virtual Result<void> release(const Owner& owner, const Owner* entry, TimePoint until) = 0;
  /// The question who holds and waits, for a request that the caller sends; `asked`: when that was sent.
  virtual Command state_command() const = 0;
  Result<LockState> state_in(Reply reply, WallTime asked);
  virtual Result<LockState> read_state(TimePoint until, Control* control);
  const std::string& key() const { return beside_.key; }  ///< the server in charge of it has the lock
  /// Frees the lock by force; where `shown` has no holder, takes unheard(shown) out of the
  /// queue. Conflict if they are not those in `shown`.
  virtual Result<void> force(const LockState& shown, TimePoint until) = 0;
  /// Deletes data that is not a lock: what data_to_drop() gives. Conflict if it is something else by now.
  Result<void> drop_data(const std::string& data, TimePoint until);
  /// As LockAdmin::revoke().
  virtual Result<void> revoke(const LockState& /*shown*/, const std::string& /*by*/, TimePoint /*until*/) {
    return cannot_be_asked(name_, "Redisson's locks have no place for a message to their holder");
  }
  /// Author and reason of a revocation, as of the last renew(); empty: none.
  const std::string& revoked() const { return revoked_; }

  /// When the last request was sent, or just before: a lease in its answer counts from here.
  TimePoint sent() const { return sent_; }
  /// Whether a server has answered the last call, even by an error.
  bool was_answered() const { return answered_; }

 protected:
  Layout(Layout&&) = default;
  /// `beside`: the key of the lock, and its companions. `deployment` and `clock` outlive it.
  Layout(Deployment& deployment, NativeNames beside, LockName name, std::string store, ReplicaDemand replicas,
         Clock& clock)
      : deployment_(deployment),
        beside_(std::move(beside)),
        name_(std::move(name)),
        store_(std::move(store)),
        clock_(clock),
        replicas_(replicas) {}

  /// By which the layout knows `owner`.
  virtual std::string holder_of(const Owner& owner) const { return owner.text(); }
  /// Of the answer to state_command(), which has just come.
  virtual Result<LockState> understood(const Answer& parts, WallTime asked) = 0;

  static bool is_renewed(const Answer& answer) { return answer[0].text == "renewed"; }

  Result<Answer> run(Command command, TimePoint until, Control* control);
  /// The same for a change: an answer for which `done` holds counts only if the demanded replicas have the change.
  Result<Answer> run_confirmed(Command command, bool (*done)(const Answer&), TimePoint until, Control* control);
  /// The same for a request that the caller keeps for its next call. REQUIRES: one command.
  Result<Answer> run_confirmed(const std::vector<Command>& request, bool (*done)(const Answer&), TimePoint until,
                               Control* control);

  /// `ask()`, a request of several keys, fails at once while these are in two places: deployment_.is_split().
  template <typename Ask>
  auto unless_split(const Ask& ask) {
    deployment_.leave_split(true);
    auto answer = ask();
    deployment_.leave_split(false);
    return answer;
  }
  /// Of a renewal by one key after the other: makes the record of `owner` last as long, and notes `ran` in it. Returns
  /// it; empty: it is not there, or cannot be reached soon, which says nothing about the lock.
  std::string keep_record(const Owner& owner, Duration ttl, const std::string& ran, TimePoint until, Control* control);
  /// A lease counts from here, whatever was sent since.
  void count_from(TimePoint sent) { sent_ = sent; }

  Deployment& deployment_;
  NativeNames beside_;
  LockName name_;
  std::string store_;
  Clock& clock_;
  std::string revoked_ = {};

 private:
  Result<std::vector<Reply>> send(const std::vector<Command>& commands, TimePoint until, Control* control);
  Result<Answer> ask(const std::vector<Command>& request, TimePoint until, Control* control);
  Result<Answer> answer_of(std::vector<Reply>& replies) const;

  ReplicaDemand replicas_;
  std::optional<Error> unmet_;  ///< that too few replicas confirmed: the reason, even if the answer after it is late
  TimePoint sent_{};
  bool answered_ = false;
};

}  // namespace dlock::redis
