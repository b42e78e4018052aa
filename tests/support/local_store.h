// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/support/client.h"

namespace dlock::testing {

/// A client of local:DIRECTORY with the machine's own clock. The runtime it needs lives as long as the program.
std::unique_ptr<Client> local_store(const std::string& directory);

}  // namespace dlock::testing
