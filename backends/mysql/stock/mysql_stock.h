// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

/// The stocks of a database; each call is a transaction. ?stock= says how it deducts. Asks no server yet. The tables
/// are made by `dlock setup`.
Result<std::unique_ptr<Stock>> make_mysql_stock(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
