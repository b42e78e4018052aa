// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/redis/tls/tls_module.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// The module for TLS, dlock-tls.so in the folder of this program, loaded on the first call and for good. No other
/// place is searched. Unsupported if it is missing, cannot be loaded or is of another dlock, and in a program that runs
/// with raised privileges (its folder may be the caller's choice: a hard link); System if the system lacks the means.
/// Each names the file and the package that has it. A failed call can be repeated.
Result<const DlockTls*> load_tls();

}  // namespace dlock::redis
