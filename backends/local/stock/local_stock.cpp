// SPDX-License-Identifier: Apache-2.0
#include "backends/local/stock/local_stock.h"

#include "backends/local/stock/ledger.h"
#include "lib/stock/ledger_stock.h"

namespace dlock {

Result<std::unique_ptr<Stock>> make_local_stock(const BackendUrl& url, const Runtime& runtime) {
  local::LocalContext context{.runtime = runtime, .store = url.redacted(), .named_directory = url.path, .host = {}};
  const auto network = url.params.find("allow-network-fs");
  context.allow_network_fs = network != url.params.end() && network->second == "1";
  const auto sync = url.params.find("sync");
  const bool durable = sync == url.params.end() || sync->second == "full";
  return ledger_stock(std::make_unique<local::Ledger>(std::move(context), durable));
}

}  // namespace dlock
