// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lib/base/runtime.h"
#include "lib/config/backend_url.h"
#include "lib/rows/rows.h"

namespace dlock {

namespace zookeeper {
class Ensemble;
/// As make_zookeeper_rows(), in this ensemble.
std::unique_ptr<Rows> make_rows(Ensemble ensemble, const RowSpace& space, const Runtime& runtime);
}  // namespace zookeeper

/// Rows of a ZooKeeper ensemble: a commit is one transaction, at the versions that it has read. Misconfigured for a URL
/// that cannot be served. Asks no server yet.
Result<std::unique_ptr<Rows>> make_zookeeper_rows(const BackendUrl& url, const RowSpace& space, const Runtime& runtime);

}  // namespace dlock
