// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/deployment.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Rows on one deployment of the Redis family, Tair too: a group is a hash, and in its slot a key for each row that is
/// many; commits are one script, and so is a look. Unsupported for redlock:// and layout=redisson, which has no
/// such thing. Asks no server yet.
Result<std::unique_ptr<Rows>> make_redis_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

namespace redis {

/// The same at a deployment; a commit counts only if the demanded replicas have it.
std::unique_ptr<Rows> make_rows(std::unique_ptr<Deployment> deployment, std::string store, const RowSpace& space,
                                const ReplicaDemand& replicas, const Runtime& runtime);

}  // namespace redis
}  // namespace dlock
