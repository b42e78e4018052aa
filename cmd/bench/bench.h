// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cmd/bench/latencies.h"
#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "cmd/wiring/compose.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/base/time.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

/// Takes one lock as its LockSpec says, on the clock of its own process. Returns a function that releases it; destroyed
/// without a call that lets it go as the destruction of a LockSession does.
using Release = std::function<Result<void>()>;
using TakeLock = std::function<Result<Release>(const LockSpec&, const Runtime&)>;

/// Takes a lock of a backend inside this program.
TakeLock take_session(OpenSession open);
/// In a keeper program: the lock as its keeper takes it, without the keeper's own start.
TakeLock take_kept(KeepLock keep);

/// The plan of one measurement, which ends when the time or the rounds are used up.
struct BenchPlan {
  LockName key;
  Duration time = std::chrono::seconds(1);
  std::size_t rounds = 20'000;  ///< of one process
  int processes = 4;            ///< that contend
};

/// One process that takes and gives back a free lock.
struct AloneResult {
  Latencies round;  ///< open, acquire, release
  Duration took{0};
};

/// Several processes that want the same lock all the time.
struct ContendedResult {
  Latencies hand_over;     ///< from the release of one process to the grant of another
  std::size_t rounds = 0;  ///< of all
  std::size_t fewest = 0;  ///< rounds of the process that got the fewest
  std::size_t most = 0;
  Duration took{0};
};

/// Forks. REQUIRES: one thread. All processes are gone when it returns; they die with their parent.
Result<ContendedResult> bench_contended(const TakeLock& take, const Log& log, const BenchPlan& plan);

/// The store that is measured.
struct BenchStore {
  std::string name;  ///< redacted URL
  TakeLock take;
};

/// dlock bench. 75 if another bench has the key. Forks. REQUIRES: one thread.
int bench_command(const Options& options, const BenchStore& store, const Runtime& runtime, Output& out);

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

/// dlock bench stock. Forks. Makes stocks of its own and drops them.
int bench_stock_command(const Options& options, const StockClients& clients, const Runtime& runtime, Output& out);

}  // namespace dlock
