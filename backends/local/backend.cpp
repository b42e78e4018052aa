// SPDX-License-Identifier: Apache-2.0
#include "backends/local/backend.h"

#include "backends/local/admin.h"
#include "backends/local/lock.h"
#include "backends/local/slots.h"

namespace dlock {
namespace {

using local::LocalContext;

Error unsupported(const std::string& what, const std::string& next) { return {ErrorCode::kUnsupported, what, next}; }

Result<std::unique_ptr<LockSession>> open_session(LocalContext& context, const LockSpec& spec) {
  if (spec.name.is_slot()) return local::slot_session(context, spec);
  if (spec.mode == Mode::kPermits && spec.name.is_path()) {
    return unsupported("a file under flock(2) cannot be held with permits", "use a key that is not a path");
  }
  if (spec.lock_delay.count() > 0 && spec.mode != Mode::kExclusive) {
    return unsupported("a lock-delay has a meaning only for an exclusive lock",
                       "leave out --lock-delay, or take it -x");
  }
  if (spec.name.is_path() && spec.left_to) {
    return unsupported("a file is locked only while a process has it open, and a lease has none",
                       "use 'dlock hold', or a key that is not a path");
  }
  return std::unique_ptr<LockSession>(std::make_unique<local::LocalLock>(context, spec));
}

}  // namespace

OpenSession open_local_sessions(const BackendUrl& url, const Runtime& runtime) {
  const auto context = std::make_shared<LocalContext>(LocalContext::of(url, runtime));
  return [context](const LockSpec& spec) { return open_session(*context, spec); };
}

Result<std::unique_ptr<LockAdmin>> make_local_admin(const BackendUrl& url, const Runtime& runtime) {
  return std::unique_ptr<LockAdmin>(std::make_unique<local::LocalAdmin>(url, runtime));
}

}  // namespace dlock
