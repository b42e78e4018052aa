// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Rows in memory, of which each call reads all from a file of the folder and writes all into it.
Result<std::unique_ptr<Rows>> make_toy_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

}  // namespace dlock
