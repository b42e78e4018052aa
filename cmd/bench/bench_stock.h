// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/bench/latencies.h"
#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "cmd/wiring/compose.h"
#include "lib/base/runtime.h"

namespace dlock {

/// One row of the benchmark: how many orders were served, by as many processes at the same time.
struct StockBenchRow {
  enum class Way { kTake, kReserve, kLock };
  Way way = Way::kTake;
  int segments = 1;
  Duration step{0};  ///< what an order does between taking and selling
  std::size_t orders = 0;
  Duration took{0};
  Latencies order{};  ///< from the request to the sale, the step included
};

/// dlock bench stock: plain takes, and orders with a step of 20 ms under a reservation and under the lock of a segment,
/// with one segment and with twenty. Forks. Makes stocks of its own and drops them.
int bench_stock_command(const Options& options, const StockClients& clients, const Runtime& runtime, Output& out);

}  // namespace dlock
