// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/support/client.h"

namespace dlock::testing {

/// A client of the store at `url`, whose locks are kept by the real keeper program, from $DLOCK_BUILD/libexec/dlock or
/// beside this program's build. Throws std::runtime_error if there is none, or if `url` is not valid.
std::unique_ptr<Client> keeper_store(const std::string& url);

}  // namespace dlock::testing
