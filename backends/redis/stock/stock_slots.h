// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/replicas.h"
#include "backends/redis/stock/stock_names.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock_slots.h"

namespace dlock::redis {

/// The slots of the stocks in `space`. Each call is one script, which makes the whole decision; it counts only if the
/// demanded replicas have it.
std::unique_ptr<StockSlots> make_stock_slots(std::unique_ptr<Deployment> deployment, std::string store,
                                             const StockSpace& space, ReplicaDemand replicas, const Runtime& runtime);

}  // namespace dlock::redis
