// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dlock::redis {

/// What else may be at the key of a lock, in words for people, with the layout to name. `type` is the key's; `sign` of
/// a string its value, of a hash the value of its field "mode" or else the name of its first field. Pure.
std::string family_note(std::string_view type, std::string_view sign);

/// "UUID:threadId", as Redisson names a thread, "UUID:UUID" of node-redisson; behind it perhaps ":write".
bool is_redisson_owner(std::string_view field);

/// A count, as Redisson's semaphores keep it.
bool is_count(std::string_view value);

}  // namespace dlock::redis
