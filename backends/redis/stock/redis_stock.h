// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/stock/stock_scripts.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of the Redis family. A stock lies in one slot of a cluster, and each call is one script, which makes the
/// whole decision. Unsupported for redlock://. Asks no server yet.
Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime);

namespace redis {

/// The same at a deployment; a call counts only if the demanded replicas have it.
std::unique_ptr<Stock> make_stock(std::unique_ptr<Deployment> deployment, std::string store, StockCounters counters,
                                  const ReplicaDemand& replicas, const Runtime& runtime);

}  // namespace redis
}  // namespace dlock
