// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/settings.h"

#include "lib/base/text.h"

namespace dlock {

Result<std::unique_ptr<redis::Deployment>> redis_deployment(const BackendUrl& url, Clock& clock,
                                                            Duration connect_timeout, redis::Greet greet) {
  if (url.scheme.ends_with("+sentinel")) return redis::sentinel_deployment(url, clock, connect_timeout, greet);
  if (is_redis_cluster(url)) return redis::cluster_deployment(url, clock, connect_timeout, greet);
  return redis::single_deployment(url, clock, connect_timeout, greet);
}

bool is_redis_cluster(const BackendUrl& url) { return url.scheme.ends_with("+cluster"); }

redis::ReplicaDemand redis_replicas(const BackendUrl& url) {
  const auto wanted = url.params.find("wait_replicas");
  if (wanted == url.params.end()) return {};
  if (wanted->second == "all") return {0, true};
  return {leading_number<int>(wanted->second), false};
}

}  // namespace dlock
