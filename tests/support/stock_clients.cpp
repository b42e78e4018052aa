// SPDX-License-Identifier: Apache-2.0
#include "tests/support/stock_clients.h"

#include <stdexcept>

#include "backends/local/stock/local_stock.h"
#include "backends/mysql/stock/mysql_stock.h"
#include "backends/redis/stock/redis_stock.h"
#include "backends/zookeeper/stock/zookeeper_stock.h"

namespace dlock::testing {

Clock& test_clock() {
  static SystemClock clock;
  return clock;
}

std::unique_ptr<Stock> connect_stock(const std::string& url) {
  static const Log log(Log::Style{.quiet = true});
  static const Runtime runtime{test_clock(), log};
  const auto parsed = BackendUrl::parse(url);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  const auto make = parsed->family == "local"       ? make_local_stock
                    : parsed->family == "mysql"     ? make_mysql_stock
                    : parsed->family == "zookeeper" ? make_zookeeper_stock
                                                    : make_redis_stock;
  auto stock = make(*parsed, runtime);
  if (!stock) throw std::runtime_error(stock.error().message);
  return std::move(*stock);
}

}  // namespace dlock::testing
