// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/postgres/connection/servers.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Rows of a database, in a table that `dlock setup` makes: a commit is one call of a function there, one transaction
/// and one round trip, and so is a look. Misconfigured for a URL that cannot be served. Asks no server yet.
Result<std::unique_ptr<Rows>> make_postgres_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

namespace postgres {

std::unique_ptr<Rows> make_rows(std::shared_ptr<Servers> servers, const RowSpace& space);

}  // namespace postgres
}  // namespace dlock
