// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/lock/lock_admin.h"

namespace dlock::redis {

/// For redlock:// and tair://. Misconfigured for a URL that names a server twice.
Result<std::unique_ptr<LockAdmin>> make_quorum_admin(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock::redis
