// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"

namespace dlock::redis {

/// Which server answers for a key: one server, a Sentinel's master, the node of a cluster's slot. Asks again where
/// the answer says so (MOVED, ASK, TRYAGAIN, READONLY, LOADING, CLUSTERDOWN) until `until`.
class Deployment {
 public:
  virtual ~Deployment() = default;

  /// Sends `commands`, whose keys are all in the slot of `key`, as one pipeline to the server in charge, and gives
  /// back one reply each. Unavailable: the outcome is unknown, or nobody could be reached (the message says which).
  /// `control` may be nullptr.
  virtual Result<std::vector<Reply>> call(const std::string& key, const std::vector<Command>& commands, TimePoint until,
                                          Control* control) = 0;

  /// The connection that last answered for `key`, or nullptr: for subscriptions and tracking, which belong to a
  /// connection.
  virtual Connection* current(const std::string& key) = 0;

  /// Whether a server was ever reached and asked: an unknown outcome may be one that took effect.
  virtual bool has_asked() const = 0;

  /// Whether nothing of the last call(), which failed, was done: the server said so (LOADING, BUSY, MASTERDOWN).
  bool was_refused() const { return refused_; }

  /// When the request that the last successful call() answered began to be written, or just before: what went before,
  /// looking for the server and connecting to it, takes nothing off a lease.
  TimePoint asked_at() const { return asked_at_; }

  /// False: a server that refuses the connection, or is not known, is not tried again within a call.
  void insist(bool insists) { insists_ = insists; }

  /// Every server that holds locks (the masters of a cluster): for inspect_all, doctor and gc. Connected on use.
  virtual Result<std::vector<Connection*>> all_servers(TimePoint until) = 0;

  /// A connection, open or not, to every server that calls may go to, some day: those that the URL names, masters and
  /// their replicas. Of a deployment whose servers do not name each other: none.
  virtual Result<std::vector<Connection*>> named_servers(TimePoint /*until*/) { return std::vector<Connection*>(); }

  /// Forgets connections after an error that only the caller can see.
  virtual void drop() = 0;

 protected:
  TimePoint asked_at_{};
  bool insists_ = true;
  bool refused_ = false;
};

/// The settings for `endpoint` that `url` asks for (user, password, database, TLS, client name, address-map).
Result<ConnectionSettings> connection_settings(const BackendUrl& url, const Endpoint& endpoint,
                                               Greet greet = Greet::kFirst);

/// What redis://, rediss://, redis+unix:// and tair:// mean.
Result<std::unique_ptr<Deployment>> single_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                      Greet greet = Greet::kFirst);
/// redis+sentinel://, rediss+sentinel://
Result<std::unique_ptr<Deployment>> sentinel_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                        Greet greet = Greet::kFirst);
/// redis+cluster://, rediss+cluster://
Result<std::unique_ptr<Deployment>> cluster_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                       Greet greet = Greet::kFirst);

}  // namespace dlock::redis
