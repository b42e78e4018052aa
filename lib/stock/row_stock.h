// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/clock.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"
#include "lib/stock/stock.h"
#include "lib/stock/stock_rows.h"

namespace dlock {

/// The stocks of a store that keeps rows, those of kStockSpace (stock_rows.h). A take or a reservation tries blindly
/// first: one commit, which the store makes if the segment has enough and the id is new. Only a refusal looks, at all
/// rows that matter in one moment, and decides again; so "short" is true of a moment. Rebalance and resize are several
/// commits while takes go on, and the stock is right between two of them; all else is one.
std::unique_ptr<Stock> row_stock(std::unique_ptr<Rows> rows, Clock& clock);

/// The same at a URL, on the rows that `make_rows` makes of it: for the registries of programs.
template <auto make_rows>
Result<std::unique_ptr<Stock>> stock_on(const BackendUrl& url, const Runtime& runtime) {
  TRY_ASSIGN(auto rows, make_rows(url, kStockSpace, runtime));
  return row_stock(std::move(rows), runtime.clock);
}

}  // namespace dlock
