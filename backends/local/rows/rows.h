// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Rows of this machine, in stock.db of the lock directory; for the program dlock-local. Opens the file on first use;
/// only a commit that relies on no row makes it. ?sync=normal: a power failure may take back the last commits (no crash
/// of a process does), and each is several times faster.
Result<std::unique_ptr<Rows>> make_local_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

}  // namespace dlock
