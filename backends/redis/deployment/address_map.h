// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/result.h"
#include "lib/net/addresses.h"

namespace dlock::redis {

/// Where `endpoint` is to be reached according to `map`, the URL's parameter address-map "NAME=PLACE,NAME=PLACE...": it
/// translates names by which the URL, a node or a sentinel calls a server, but which cannot be reached from here. NAME
/// and PLACE are both host:port, or both a host (the port stays). An entry with a port goes before one without.
/// nullopt: `endpoint` is reached by its own name. Misconfigured for a map of another form.
Result<std::optional<Endpoint>> mapped_endpoint(std::string_view map, const Endpoint& endpoint);

}  // namespace dlock::redis
