// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// Runs the scripts of one lock on its deployment: one EVAL for each call, and behind it the check of the replicas if
/// one is demanded. Unavailable: the outcome is unknown; after any other error nothing was changed. `control` as in
/// Deployment::call. `deployment` and `clock` outlive it. Single-threaded.
class ScriptCalls {
 public:
  using Answer = std::vector<Reply>;  ///< the elements of a script's reply; at least one

  /// `name` is what messages call the lock whose key is `key`.
  ScriptCalls(Deployment& deployment, std::string key, std::string name, std::string store, ReplicaDemand replicas,
              Clock& clock)
      : deployment_(deployment),
        key_(std::move(key)),
        name_(std::move(name)),
        store_(std::move(store)),
        replicas_(replicas),
        clock_(clock) {}

  Result<Answer> run(Command command, TimePoint until, Control* control);
  /// The same for a change: an answer for which `done` holds counts only if the demanded replicas have the change.
  Result<Answer> run_confirmed(Command command, bool (*done)(const Answer&), TimePoint until, Control* control);
  /// The same for a request that the caller keeps for its next call. REQUIRES: one command.
  Result<Answer> run_confirmed(const std::vector<Command>& request, bool (*done)(const Answer&), TimePoint until,
                               Control* control);

  /// When the last request was sent, or just before: a lease in its answer counts from here.
  TimePoint sent() const { return sent_; }
  /// Whether a server has answered the last call, even by an error.
  bool was_answered() const { return answered_; }
  /// Until when other clients of this key may still be on their way back: the connection has ended, a call had no
  /// answer, or another node was asked than before (an outage, a failover, a slot that has moved). In the past: nothing
  /// of the kind.
  TimePoint unsettled_until();

  const std::string& key() const { return key_; }
  const std::string& store() const { return store_; }
  /// What a script has answered in `replies`, the first of which is its own: for a request that was sent otherwise.
  Result<Answer> answer_of(std::vector<Reply>& replies) const;

 private:
  Result<std::vector<Reply>> send(const std::vector<Command>& commands, TimePoint until, Control* control);
  Result<Answer> ask(const std::vector<Command>& request, TimePoint until, Control* control);

  Deployment& deployment_;
  std::string key_;
  std::string name_;
  std::string store_;
  ReplicaDemand replicas_;
  Clock& clock_;
  std::optional<Error> unmet_;  ///< that too few replicas confirmed: the reason, even if the answer after it is late
  TimePoint sent_{};
  bool answered_ = false;
  std::string node_;  ///< that answered last
  TimePoint unsettled_until_{};
};

}  // namespace dlock::redis
