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

/// The scripts of one lock, asked of its deployment: one EVAL each, and the replicas behind it if they are demanded.
/// Unavailable has an unknown outcome; other errors say that nothing was changed. `control` as in Deployment::call.
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
  /// The same; an answer that is `done` counts only when the replicas that are demanded have it.
  Result<Answer> run_confirmed(Command command, bool (*done)(const Answer&), TimePoint until, Control* control);
  /// The same for a request that is kept to be made again. REQUIRES: one command.
  Result<Answer> run_confirmed(const std::vector<Command>& request, bool (*done)(const Answer&), TimePoint until,
                               Control* control);

  /// A lease that the last answer speaks of counts from here: the request went out then or later.
  TimePoint sent() const { return sent_; }
  /// The last call was answered, whatever the answer: the server is there.
  bool was_answered() const { return answered_; }

  const std::string& store() const { return store_; }

 private:
  Result<Answer> ask(const std::vector<Command>& request, TimePoint until, Control* control);
  Result<Answer> answer_of(std::vector<Reply>& replies) const;

  Deployment& deployment_;
  std::string key_;
  std::string name_;
  std::string store_;
  ReplicaDemand replicas_;
  Clock& clock_;
  std::optional<Error> unmet_;  ///< what the replicas last did not confirm: the reason even if the next answer is late
  TimePoint sent_{};
  bool answered_ = false;
};

}  // namespace dlock::redis
