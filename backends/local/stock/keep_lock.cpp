// SPDX-License-Identifier: Apache-2.0
#include "backends/local/backend.h"
#include "backends/local/stock/local_stock.h"
#include "lib/keeper/session_lock.h"

namespace dlock {

Result<std::unique_ptr<LockDriver>> keep_local_lock(const BackendUrl& url, const LockSpec& spec,
                                                    const Runtime& runtime) {
  OpenSession open = open_local_sessions(url, runtime);
  auto session = open(spec);
  if (!session) return session.error();
  return std::unique_ptr<LockDriver>(
      std::make_unique<SessionLock>(std::move(open), std::move(*session), runtime.clock));
}

}  // namespace dlock
