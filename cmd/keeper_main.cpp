// SPDX-License-Identifier: Apache-2.0
// The program of a family of backends: "dlock-NAME --keeper" keeps one lock for the dlock that started it; with any
// other arguments it is the same command line as dlock.
#include <unistd.h>

#include <string_view>

#include "backends/registry.h"
#include "cmd/program.h"
#include "lib/keeper/keeper_loop.h"
#include "lib/stock/stock_hold.h"

namespace {

using KeptLock = dlock::Result<std::unique_ptr<dlock::KeptLock>>;

/// Part of a stock, perhaps with the locks of its segments.
KeptLock open_stock(const dlock::RegisteredBackend& row, const dlock::AcquireRequest& request,
                    const dlock::Runtime& runtime) {
  if (!row.stock) return dlock::no_stock_in(request.url);
  auto stock = row.stock(request.url, runtime);
  if (!stock) return stock.error();
  const auto open_segment = [&row, url = request.url, runtime](const dlock::LockSpec& spec) {
    return row.keep(url, spec, runtime);
  };
  return KeptLock(std::make_unique<dlock::StockHold>(std::move(*stock), request.spec, open_segment, runtime));
}

KeptLock open_lock(const dlock::AcquireRequest& request, const dlock::Runtime& runtime) {
  for (const dlock::RegisteredBackend& row : dlock::registered_backends()) {
    if (request.url.scheme != row.scheme) continue;
    return request.spec.stock ? open_stock(row, request, runtime) : row.keep(request.url, request.spec, runtime);
  }
  return dlock::Error{dlock::ErrorCode::kUnsupported, "this program keeps no locks of " + request.url.redacted()};
}

}  // namespace

int main(int argc, char** argv) {
  const bool keeper = argc == 2 && std::string_view(argv[1]) == "--keeper";
  const int status = keeper ? dlock::run_keeper(open_lock) : dlock::run_program(argc, argv);
#ifndef __SANITIZE_ADDRESS__
  _exit(status);
#endif
  return status;
}
