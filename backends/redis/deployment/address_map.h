// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/result.h"
#include "lib/net/endpoint.h"

namespace dlock::redis {

/// The parameter address-map of a URL, "NAME=PLACE,NAME=PLACE...": where a server is reached that the URL, a node or a
/// sentinel calls by a name that is of no use here. Both are host:port, or both a host, whose ports stay. Of several
/// that fit, one with a port goes before one without. nullopt: `endpoint` is reached by its own name. Misconfigured for
/// a map that has another form.
Result<std::optional<Endpoint>> mapped_endpoint(std::string_view map, const Endpoint& endpoint);

}  // namespace dlock::redis
