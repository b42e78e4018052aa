// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_backend.h"
#include "backends/local/stock/local_stock.h"
#include "lib/keeper/session_lock.h"

namespace dlock {

Result<std::unique_ptr<KeptLock>> keep_local_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  auto backend = make_local_backend(url, runtime);
  if (!backend) return backend.error();
  auto session = (*backend)->open(spec);
  if (!session) return session.error();
  return std::unique_ptr<KeptLock>(
      std::make_unique<SessionLock>(std::move(*backend), std::move(*session), runtime.clock));
}

}  // namespace dlock
