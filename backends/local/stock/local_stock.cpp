// SPDX-License-Identifier: Apache-2.0
#include "backends/local/stock/local_stock.h"

#include "backends/local/stock/ledger.h"
#include "lib/stock/ledger_stock.h"

namespace dlock {

Result<std::unique_ptr<Stock>> make_local_stock(const BackendUrl& url, const Runtime& runtime) {
  auto context = local::LocalContext::of(url, runtime);
  const bool durable = context.settings.durable_stock;
  return ledger_stock(std::make_unique<local::Ledger>(std::move(context), durable));
}

}  // namespace dlock
