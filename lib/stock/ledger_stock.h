// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/stock/stock_ledger.h"

namespace dlock {

/// A Stock on a ledger: each call is one transaction, repeated after a conflict with another one.
std::unique_ptr<Stock> ledger_stock(std::unique_ptr<StockLedger> ledger);

}  // namespace dlock
