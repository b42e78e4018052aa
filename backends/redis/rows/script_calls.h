// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "lib/keeper/call_limit.h"

namespace dlock::redis {

/// Sends scripts to the server. The first use of a script sends its text; the second one also
/// asks for its hash (SCRIPT LOAD), which is sent from then on, as long as the server knows the hash and lets us use
/// it. Not thread-safe.
class ScriptCalls {
 public:
  ScriptCalls(std::unique_ptr<Deployment> deployment, std::string store, const ReplicaDemand& replicas, Clock& clock)
      : deployment_(std::move(deployment)), store_(std::move(store)), replicas_(replicas), clock_(clock) {}

  Deployment& deployment() { return *deployment_; }

  /// The beginning of a call of the script `text`, whose address is its name: its keys and words go after it.
  Command script(const char* text);

  /// Sends `scripts`, whose keys are all in the slot of `key`, in one pipeline; returns one reply for each. If the
  /// server does not know a hash, that script and all after it are sent again, in order, as text. Unavailable: the
  /// outcome of all of them is unknown. Without `sure` the replicas are not asked.
  Result<std::vector<Reply>> exchange(const std::string& key, std::vector<Command> scripts, const CallLimit& limit,
                                      bool sure = true);

 private:
  struct Script {
    const char* text = nullptr;
    std::string hash;  ///< empty: not known
    int sent = 0;      ///< as text
  };

  Result<std::vector<Reply>> call(const std::string& key, const std::vector<Command>& commands, const CallLimit& limit);
  Result<std::vector<Reply>> exchange_once(const std::string& key, std::vector<Command>& scripts,
                                           const CallLimit& limit, bool sure);
  Result<void> count_replicas(const std::string& key, const CallLimit& limit);
  std::vector<Command> hash_questions() const;
  void take_hashes(std::span<const Reply> answers);
  void send_as_text(std::span<Command> scripts);
  Error unreplicated(const std::string& replicas) const;

  std::unique_ptr<Deployment> deployment_;
  const std::string store_;
  const ReplicaDemand replicas_;
  Clock& clock_;
  std::map<const char*, Script> scripts_;
  std::vector<Script*> unhashed_;  ///< whose hash is to be asked for
  bool hashes_refused_ = false;
  std::string counted_for_;  ///< the key for whose server known_replicas_ holds
  std::int64_t known_replicas_ = 0;
};

}  // namespace dlock::redis
