// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of a database; each call is one transaction, and ?stock= says how it deducts. `dlock setup` makes the
/// tables. Misconfigured for a URL that cannot be served. Asks no server yet.
Result<std::unique_ptr<Stock>> make_mysql_stock(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
