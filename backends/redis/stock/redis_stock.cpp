// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/stock/redis_stock.h"

#include <chrono>
#include <cstdlib>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/settings.h"
#include "backends/redis/stock/stock_slots.h"
#include "lib/base/text.h"
#include "lib/stock/slotted_stock.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using redis::StockCounters;

constexpr Duration kStockConnectTimeout = 5s;
constexpr int kTairSlots = 8;
constexpr int kMostSlots = 256;

StockCounters counters_of(const BackendUrl& url) {
  if (url.scheme == "tair") return StockCounters::kTair;
  return url.param("stock") == "decr" ? StockCounters::kPlain : StockCounters::kHash;
}

int slots_of(const BackendUrl& url) {
  const std::string slots = url.param("stock_slots");
  if (slots.empty()) return url.scheme == "tair" ? kTairSlots : 1;
  return leading_number<int>(slots);
}

}  // namespace

Result<std::unique_ptr<Stock>> make_redis_stock(const BackendUrl& url, const Runtime& runtime) {
  if (url.scheme == "redlock") {
    return Error{ErrorCode::kUnsupported,
                 "redlock:// keeps no stock: a majority of independent servers can agree on who holds a lock, but not "
                 "on how many items are left",
                 "keep the stock on one server (redis://), on a cluster, or in a database"};
  }
  if (url.param("layout") == "redisson") {
    return Error{ErrorCode::kUnsupported, "Redisson has no stocks: layout=redisson is for locks",
                 "leave layout=redisson out of the stock's URL"};
  }
  const redis::StockSpace space{counters_of(url), slots_of(url)};
  if (space.slots < 1 || space.slots > kMostSlots) {
    return Error{ErrorCode::kMisconfigured,
                 "the URL parameter stock_slots cannot be '" + url.param("stock_slots") + "'",
                 "it takes 1 to " + std::to_string(kMostSlots) + ": a few for each master of the cluster"};
  }
  auto deployment = redis_deployment(url, runtime.clock, kStockConnectTimeout);
  if (!deployment) return deployment.error();
  auto slots = redis::make_stock_slots(std::move(*deployment), url.redacted(), space, redis_replicas(url), runtime);
  return std::unique_ptr<Stock>(std::make_unique<SlottedStock>(std::move(slots), runtime));
}

}  // namespace dlock
