// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/stock/mysql_stock.h"

#include "backends/mysql/connection/connector_database.h"
#include "backends/mysql/stock/stock_rows.h"
#include "lib/stock/ledger_stock.h"

namespace dlock {

Result<std::unique_ptr<Stock>> make_mysql_stock(const BackendUrl& url, const Runtime& runtime) {
  auto settings = mysql::settings_of(url, std::chrono::seconds(5));
  if (!settings) return settings.error();
  return ledger_stock(std::make_unique<mysql::StockRows>(std::move(*settings), mysql::connect_by_connector, runtime));
}

}  // namespace dlock
