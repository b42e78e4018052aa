// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// One call of dlock, ready to be done by the function of its command's row.
struct Call {
  const Options& options;
  const Runtime& runtime;
  Output& out;
  char** argv;  ///< for the program of a store, which has the same command line
  char** environment;
};

// Commands that supervise nothing are the business of the program that knows the store: where this one does not, it
// executes that one in its own place. Each returns the exit status of the process.

using StoreCommand = int (*)(const Options&, LockAdmin&, const Runtime&, Output&);
int ask_store(const Call& call, StoreCommand command);
/// A `dlock stock` that supervises nothing.
int ask_stock(const Call& call);
int ask_doctor(const Call& call);
int run_bench(const Call& call);
/// The hidden `dlock __complete`.
int complete(const Call& call);

}  // namespace dlock
