// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/stock/stock.h"

namespace dlock {

namespace zookeeper {
class Ensemble;
/// As make_zookeeper_stock(), in this ensemble.
std::unique_ptr<Stock> make_stock(Ensemble ensemble, const Runtime& runtime);
}  // namespace zookeeper

/// The stocks of a ZooKeeper ensemble: each call makes its changes by one transaction, against the versions that it has
/// read. Misconfigured for a URL that cannot be served. Asks no server yet.
Result<std::unique_ptr<Stock>> make_zookeeper_stock(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
