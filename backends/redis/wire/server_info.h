// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backends/redis/wire/reply.h"
#include "lib/base/result.h"

namespace dlock::redis {

/// Misconfigured: `server` is a node of a cluster and the URL, of this scheme, names one server; `words` say how we
/// know.
Error node_of_cluster(const std::string& server, const std::string& scheme, const std::string& words);

/// An error with the same meaning as an answer to anything: this connection is of no use.
std::optional<Error> turned_away(const Reply& reply, const std::string& server);

/// The error that the answer to HELLO means for a URL of this scheme, which names one server by itself: a node of a
/// cluster, or a sentinel. A server that does not know HELLO (before 6.0) is nullopt, whatever it is.
std::optional<Error> not_alone(const Reply& hello, const std::string& scheme, const std::string& server);

/// The "name:value" lines of an answer to INFO.
class ServerInfo {
 public:
  explicit ServerInfo(std::string_view info);

  /// The value of `name`; empty if there is none.
  std::string text(const std::string& name) const;
  /// The same as a number; 0 if there is none.
  std::int64_t number(const std::string& name) const;

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace dlock::redis
