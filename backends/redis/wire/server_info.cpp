// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/server_info.h"

#include "lib/base/text.h"

namespace dlock::redis {

Error node_of_cluster(const std::string& server, const std::string& scheme, const std::string& words) {
  const std::string tls = scheme.starts_with("rediss") ? "rediss" : "redis";
  const bool may_be = scheme.starts_with("redis");
  return {ErrorCode::kMisconfigured, server + " is a node of a cluster: " + words,
          may_be ? "write " + tls + "+cluster:// instead of " + scheme + "://"
                 : scheme + ":// is for single servers; for a cluster write redis+cluster://"};
}

std::optional<Error> turned_away(const Reply& reply, const std::string& server) {
  if (reply.is_error("NOAUTH")) {
    return Error{ErrorCode::kDenied, server + " wants a password (NOAUTH)",
                 "use ?password-file=/path, or $DLOCK_PASSWORD"};
  }
  if (reply.is_error("DENIED")) return Error{ErrorCode::kDenied, server + " refuses us: " + words_of(reply)};
  if (reply.is_error() && reply.text.starts_with("ERR max number of clients")) {
    return Error{ErrorCode::kUnavailable, server + " refuses us: " + words_of(reply),
                 "raise maxclients there; every holder and every waiter needs a connection"};
  }
  return std::nullopt;
}

std::optional<Error> not_alone(const Reply& hello, const std::string& scheme, const std::string& server) {
  const std::string_view mode = flat_value(hello, "mode");
  if (mode == "cluster") return node_of_cluster(server, scheme, "HELLO says so");
  if (mode != "sentinel") return std::nullopt;
  return Error{ErrorCode::kMisconfigured, server + " is a sentinel, which keeps no locks",
               "write redis+sentinel://" + server + "/NAME, with the name of its master"};
}

ServerInfo::ServerInfo(std::string_view info) {
  while (!info.empty()) {
    std::string_view line = cut(info, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t colon = line.find(':');
    if (line.starts_with('#') || colon == std::string_view::npos) continue;
    fields_[std::string(line.substr(0, colon))] = line.substr(colon + 1);
  }
}

std::string ServerInfo::text(const std::string& name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? "" : found->second;
}

std::int64_t ServerInfo::number(const std::string& name) const { return leading_number<std::int64_t>(text(name)); }

}  // namespace dlock::redis
