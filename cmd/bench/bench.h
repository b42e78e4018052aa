// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/bench/bench_rounds.h"
#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"

namespace dlock {

/// The store that is measured.
struct BenchStore {
  std::string name;  ///< redacted URL
  TakeLock take;
};

/// dlock bench: about two seconds of locking a key of its own (dlock.bench) in this store: one process alone, then
/// --processes that contend. 75 if another bench has the key. Forks. REQUIRES: one thread.
int bench_command(const Options& options, const BenchStore& store, const Runtime& runtime, Output& out);

/// The text, or the JSON line, that bench_command() prints.
std::string bench_text(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended, const Look& look);
std::string bench_json(const std::string& store, const BenchPlan& plan, const AloneResult& alone,
                       const ContendedResult& contended);

}  // namespace dlock
