// SPDX-License-Identifier: Apache-2.0
#include "cmd/keeper_program.h"

#include "backends/registry.h"
#include "lib/keeper/keeper_loop.h"

namespace dlock {
namespace {

Result<std::unique_ptr<KeptLock>> open_lock(const AcquireRequest& request, const Runtime& runtime) {
  for (const RegisteredBackend& row : registered_backends()) {
    if (request.url.scheme == row.scheme) return row.keep(request.url, request.spec, runtime);
  }
  return Error{ErrorCode::kUnsupported, "this program keeps no locks of " + request.url.redacted()};
}

}  // namespace

int run_keeper_program() { return run_keeper(open_lock); }

}  // namespace dlock
