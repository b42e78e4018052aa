// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/stock/stock_ledger.h"

namespace dlock {

/// The port of stock on a ledger: each call is one transaction, run again when another one was in its way.
std::unique_ptr<Stock> ledger_stock(std::unique_ptr<StockLedger> ledger);

}  // namespace dlock
