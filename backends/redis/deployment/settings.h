// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// What a URL means, whatever its layout.
Result<std::unique_ptr<redis::Deployment>> redis_deployment(const BackendUrl& url, Clock& clock,
                                                            Duration connect_timeout,
                                                            redis::Greet greet = redis::Greet::kFirst);
bool is_redis_cluster(const BackendUrl& url);
/// Its wait_replicas.
redis::ReplicaDemand redis_replicas(const BackendUrl& url);

}  // namespace dlock
