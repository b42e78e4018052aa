// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/backend.h"

#include "backends/toy/admin.h"
#include "backends/toy/lock.h"
#include "lib/lock/lock_errors.h"

namespace dlock {

Result<std::unique_ptr<LockAdmin>> make_toy_admin(const BackendUrl& url, const Runtime& runtime) {
  return std::unique_ptr<LockAdmin>(std::make_unique<toy::ToyAdmin>(toy::ToyStore(url.path), url.redacted(), runtime));
}

Result<std::unique_ptr<LockDriver>> keep_toy_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  if (const auto fits = check_exclusive_only(spec, url.redacted()); !fits) return fits.error();
  return std::unique_ptr<LockDriver>(std::make_unique<PolledLock>(
      std::make_unique<toy::ToyLock>(toy::ToyStore(url.path), spec, url.redacted(), runtime), spec, url.redacted(),
      runtime));
}

}  // namespace dlock
