// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/zookeeper/session/request.h"
#include "lib/base/result.h"

namespace dlock::zookeeper {

/// The connection is gone, or the session is elsewhere by now: what was asked may have been done.
bool is_disconnected(Code code);

/// An answer that no ZooKeeper server gives: something else answers there.
bool is_nonsense(Code code);

/// Meaning of a code for users of dlock, whatever was asked. nullopt for what the server says of the request itself
/// (NoNode, NodeExists, BadVersion, ...): its meaning is the caller's.
/// `right` is the one that it takes: "CREATE on /a".
std::optional<Error> error_of(Code code, const std::string& store, const std::string& right);

/// The error of whoever has got session after session, and each was over at once.
Error ends_every_session(const std::string& store);

/// The error for a code that is not expected here. `what`: the server did, "does not note who enters /x".
Error unexpected(Code code, const std::string& store, const std::string& what);
/// The same where it is known what that means for the user.
Error unexpected(ErrorCode meaning, Code code, const std::string& store, const std::string& what);

}  // namespace dlock::zookeeper
