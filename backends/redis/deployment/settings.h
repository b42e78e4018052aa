// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// The deployment that a URL means, whatever its layout. Misconfigured for a URL that cannot be served; connects on
/// use.
Result<std::unique_ptr<redis::Deployment>> redis_deployment(const BackendUrl& url, Clock& clock,
                                                            Duration connect_timeout,
                                                            redis::Greet greet = redis::Greet::kFirst);
bool is_redis_cluster(const BackendUrl& url);
/// The demand of the URL's parameter wait_replicas.
redis::ReplicaDemand redis_replicas(const BackendUrl& url);

}  // namespace dlock
