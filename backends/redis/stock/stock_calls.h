// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "backends/redis/stock/stock_names.h"
#include "lib/stock/stock.h"

namespace dlock::redis {

/// Sends the scripts of one kind of stocks to the server. The first use of a script sends its text; the second one also
/// asks for its hash (SCRIPT LOAD), which is sent from then on, as long as the server knows the hash and lets us use
/// it. Not thread-safe.
class StockCalls {
 public:
  StockCalls(std::unique_ptr<Deployment> deployment, std::string store, const StockSpace& space,
             const ReplicaDemand& replicas, Clock& clock)
      : deployment_(std::move(deployment)),
        store_(std::move(store)),
        space_(space),
        replicas_(replicas),
        clock_(clock) {}

  Deployment& deployment() { return *deployment_; }

  /// One of stock_scripts with the keys of `names`, and `record`. The script's words go after it.
  Command script(const char* script, const StockNames& names, const std::string& record);
  /// The script for the most frequent kind of take (TakesAtOnce), with its keys.
  Command take_at_once(const StockNames& names, const std::string& record);

  /// Sends `scripts` in one pipeline; returns one reply for each. If the server does not know a hash, that script and
  /// all after it are sent again, in order, as text. Unavailable: the outcome of all of them is unknown.
  Result<std::vector<Reply>> exchange(const StockNames& names, std::vector<Command> scripts, const CallLimit& limit);

 private:
  struct Script {
    std::string text;
    std::string hash;  ///< empty: not known
    int sent = 0;      ///< as text
  };

  Command call_of(Script& script, std::initializer_list<std::string_view> keys);
  Result<std::vector<Reply>> call(const StockNames& names, const std::vector<Command>& commands,
                                  const CallLimit& limit);
  Result<std::vector<Reply>> exchange_once(const StockNames& names, std::vector<Command>& scripts,
                                           const CallLimit& limit);
  std::vector<Command> hash_questions() const;
  void take_hashes(std::span<const Reply> answers);
  void send_as_text(std::span<Command> scripts);
  Error unreplicated(const std::string& replicas) const;

  std::unique_ptr<Deployment> deployment_;
  const std::string store_;
  const StockSpace space_;
  const ReplicaDemand replicas_;
  Clock& clock_;
  std::map<const char*, Script> scripts_;
  std::vector<Script*> unhashed_;  ///< whose hash is to be asked for
  bool hashes_refused_ = false;
};

}  // namespace dlock::redis
