// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of the Redis family. A stock lies in one slot, and each call is one script, which makes the whole
/// decision; with stock_slots=N, and in Tair, it lies in several slots (SlottedStock). Unsupported for redlock://. Asks
/// no server yet.
Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
