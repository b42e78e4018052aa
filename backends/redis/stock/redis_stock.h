// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of the Redis family: in one slot, one script for each call, which is the whole of its decision; with
/// stock_slots=N, and in Tair, in several (SlottedStock). Unsupported for redlock://. Asks no server yet.
Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
