// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

/// Rows of a database, in a table that `dlock setup` makes: a commit is one transaction and one round trip, and so is
/// a look. Misconfigured for a URL that cannot be served. Asks no server yet.
Result<std::unique_ptr<Rows>> make_mysql_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

namespace mysql {

std::unique_ptr<Rows> make_rows(Settings settings, const Dial& dial, const RowSpace& space, const Runtime& runtime);

/// The rows of locks (lib/row_lock), with the queue that named locks are. Who is at its head and is not heard of for
/// `ttl` (0: soon) is passed over.
std::unique_ptr<Rows> make_lock_rows(Settings settings, const Dial& dial, Duration ttl, const Runtime& runtime);

}  // namespace mysql
}  // namespace dlock
