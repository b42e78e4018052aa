// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/names.h"
#include "lib/base/runtime.h"

namespace dlock::redis {

// Questions to the companion keys of locks (names.h), the same in every layout. Errors as of Deployment::call().

/// The names of all locks that have a companion with this suffix ("holders"), in canonical order.
Result<std::vector<LockName>> names_with_companion(Deployment& deployment, const std::string& suffix,
                                                   const std::string& store, const Runtime& runtime);

/// One page of them: adds the names to `names`, and returns the cursor of the next page, "0" after the last one;
/// nullopt for a reply that is not a page of SCAN.
std::optional<std::string> add_page(const Reply& page, std::string_view suffix, std::set<LockName>& names);
/// The command for the page at `cursor`.
Command page_command(const std::string& cursor, const std::string& suffix);

/// How many keys one request is about: what its answers may take, in memory and in time.
inline constexpr std::size_t kKeysAtOnce = 256;

/// Sends `commands[i]`, whose keys are in the slot of `keys[i]`, and gives back one reply each. What one server is in
/// charge of goes to it in one write.
std::vector<Result<Reply>> call_each(Deployment& deployment, const std::vector<std::string>& keys,
                                     const std::vector<Command>& commands, const Runtime& runtime, TimePoint until);

}  // namespace dlock::redis
