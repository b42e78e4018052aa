// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/names.h"
#include "lib/base/runtime.h"
#include "lib/lock/who_text.h"

namespace dlock::redis {

// Questions to the companion keys of locks (names.h), the same in every layout. Errors as of Deployment::call().

/// Of a look at all keys: a server whose cursor never returns to 0 is left when it is over.
inline constexpr Duration kScanBudget = std::chrono::seconds(60);

/// The names of all locks that have a companion with this suffix ("holders"), in canonical order.
Result<std::vector<LockName>> names_with_companion(Deployment& deployment, const std::string& suffix,
                                                   const std::string& store, const Runtime& runtime);

/// Keys by a pattern of SCAN, and what one of them is called; nullopt: it is none of them.
struct KeysOf {
  std::string pattern;
  std::function<std::optional<std::string>(std::string_view key)> name;
};
KeysOf companions(const std::string& suffix);

/// The names in all servers' keys, in canonical order, until `until`, each page of them within `patience`.
Result<std::vector<LockName>> names_of(Deployment& deployment, const KeysOf& keys, const std::string& store,
                                       Clock& clock, TimePoint until, Duration patience, Control* control);

/// The command for the page at `cursor`.
Command page_command(const std::string& cursor, const KeysOf& keys);
/// Adds the names of a page to `names`, and returns the cursor of the next page, "0" after the last one; nullopt for a
/// reply that is not a page of SCAN.
std::optional<std::string> add_page(const Reply& page, const KeysOf& keys, std::set<LockName>& names);

/// How many keys one request is about: what its answers may take, in memory and in time.
inline constexpr std::size_t kKeysAtOnce = 256;

/// Sends `commands[i]`, whose keys are in the slot of `keys[i]`, and gives back one reply each. What one server is in
/// charge of goes to it in one write.
std::vector<Result<Reply>> call_each(Deployment& deployment, const std::vector<std::string>& keys,
                                     const std::vector<Command>& commands, const Runtime& runtime, TimePoint until);

/// The record of a holder, the same in every layout: the value of the field OWNER in the hash
/// NativeNames::holders, "TOKEN SINCE_MS DELAY_MS ENTRY,ENTRY,... INFO". The scripts write it by the server's clock. An
/// entry is one acquisition: the outer one and those that joined it. INFO is who_text(), of a permit with_slot().
///
/// Fills `participant` from the record; returns its lock-delay in ms.
std::int64_t add_record(Participant& participant, std::string_view record);

}  // namespace dlock::redis
