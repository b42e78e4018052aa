// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_session.h"

namespace dlock {

/// Locks on this machine, kept by the kernel (local/settings.h says which). Touches nothing yet; the directory is
/// opened and checked on first use.
Result<std::unique_ptr<LockAdmin>> make_local_admin(const BackendUrl& url, const Runtime& runtime);
OpenSession open_local_sessions(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
