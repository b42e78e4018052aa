// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/deployment/replicas.h"
#include "backends/redis/wire/connection.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/net/addresses.h"

namespace dlock::redis {

/// Where `endpoint` is to be reached according to `map`, the URL's parameter address-map "NAME=PLACE,NAME=PLACE...": it
/// translates names by which the URL, a node or a sentinel calls a server, but which cannot be reached from here. NAME
/// and PLACE are both host:port, or both a host (the port stays). An entry with a port goes before one without.
/// nullopt: `endpoint` is reached by its own name. Misconfigured for a map of another form.
Result<std::optional<Endpoint>> mapped_endpoint(std::string_view map, const Endpoint& endpoint);

/// Sends commands to the server in charge of a key: the only server, a Sentinel's master, or the node of a cluster's
/// slot. When that refuses (MOVED, ASK, TRYAGAIN, READONLY, LOADING, CLUSTERDOWN), it follows or repeats until `until`.
/// Single-threaded.
class Deployment {
 public:
  virtual ~Deployment() = default;

  /// Sends `commands`, whose keys are all in the slot of `key`, as one pipeline to the server in charge, and gives
  /// back one reply each. Unavailable: the outcome is unknown, or no server could be reached (the message says which).
  /// `control` may be nullptr.
  virtual Result<std::vector<Reply>> call(const std::string& key, const std::vector<Command>& commands, TimePoint until,
                                          Control* control) = 0;

  /// The connection that last answered for `key`, or nullptr: for subscriptions and tracking, which belong to a
  /// connection.
  virtual Connection* current(const std::string& key) = 0;

  /// After a failed call(): whether nothing of it was done, because no server could be reached, or all that were asked
  /// have refused it (LOADING, BUSY, MOVED, CLUSTERDOWN).
  bool was_refused() const { return refused_; }

  /// True: a call() whose keys are in two places, because the slot moves (TRYAGAIN), fails at once instead of waiting
  /// for the end of the move, and is_split() says so: the caller then asks for one key after the other.
  void leave_split(bool leaves) { leaves_split_ = leaves; }
  bool is_split() const { return split_; }

  /// When the request of the last successful call() began to be written, or just before: a lease counts from here, so
  /// that looking for the server and connecting to it takes nothing off it.
  TimePoint asked_at() const { return asked_at_; }

  /// After a call(): how many replicas the primary that answered is known to have by others than itself (the sentinels'
  /// list, asked for only if the URL says wait_replicas=all); 0: not known.
  std::int64_t known_replicas() const { return known_replicas_; }

  /// False: a server that refuses the connection, or is not known, is not tried again within a call.
  void insist(bool insists) { insists_ = insists; }

  /// A connection, open or not, to every server that holds locks (of a cluster all masters): for inspect_all, doctor
  /// and gc.
  virtual Result<std::vector<Connection*>> all_servers(TimePoint until) = 0;

 protected:
  TimePoint asked_at_{};
  std::int64_t known_replicas_ = 0;
  bool insists_ = true;
  bool refused_ = false;
  bool leaves_split_ = false;
  bool split_ = false;
};

/// The settings for `endpoint` that `url` asks for (user, password, database, TLS, client name, address-map).
Result<ConnectionSettings> connection_settings(const BackendUrl& url, const Endpoint& endpoint,
                                               Greet greet = Greet::kFirst);

/// Deployments of redis://, rediss://, redis+unix:// and tair://.
Result<std::unique_ptr<Deployment>> single_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                      Greet greet = Greet::kFirst);
/// redis+sentinel://, rediss+sentinel://
Result<std::unique_ptr<Deployment>> sentinel_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                        Greet greet = Greet::kFirst);
/// redis+cluster://, rediss+cluster://
Result<std::unique_ptr<Deployment>> cluster_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                       Greet greet = Greet::kFirst);
/// The one of these that a URL means, whatever its layout. Misconfigured for a URL that cannot be served; connects on
/// use.
Result<std::unique_ptr<Deployment>> redis_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                     Greet greet = Greet::kFirst);
bool is_redis_cluster(const BackendUrl& url);
/// The demand of the URL's parameter wait_replicas.
ReplicaDemand redis_replicas(const BackendUrl& url);

}  // namespace dlock::redis
