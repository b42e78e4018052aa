// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/result.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/lock/backend.h"

namespace dlock {

/// Locks on this machine, kept by the kernel: local: or local:/dir, with ?allow-network-fs=1. Touches nothing yet;
/// the directory is opened and checked on first use. The backend must outlive its sessions.
Result<std::unique_ptr<Backend>> make_local_backend(const BackendUrl& url, const Runtime& runtime);

}  // namespace dlock
