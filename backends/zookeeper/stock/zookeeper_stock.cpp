// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/stock/zookeeper_stock.h"

#include "backends/zookeeper/stock/stock_tree.h"
#include "lib/stock/ledger_stock.h"

namespace dlock {

std::unique_ptr<Stock> zookeeper::make_stock(Ensemble ensemble, const Runtime& runtime) {
  return ledger_stock(std::make_unique<StockTree>(std::move(ensemble), runtime));
}

Result<std::unique_ptr<Stock>> make_zookeeper_stock(const BackendUrl& url, const Runtime& runtime) {
  auto ensemble = zookeeper::Ensemble::of(url, runtime.clock);
  if (!ensemble) return ensemble.error();
  return zookeeper::make_stock(std::move(*ensemble), runtime);
}

}  // namespace dlock
