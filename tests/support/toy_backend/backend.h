// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/keeper/lock_driver.h"
#include "lib/lock/lock_admin.h"
#include "lib/lock/lock_spec.h"

namespace dlock {

Result<std::unique_ptr<LockAdmin>> make_toy_admin(const BackendUrl& url, const Runtime& runtime);
Result<std::unique_ptr<LockDriver>> keep_toy_lock(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime);

}  // namespace dlock
