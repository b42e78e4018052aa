// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace dlock {

/// scheme://[user[:password]@]host[:port][,host2[:port]...][/path][?name=value&...], parsed and checked.
struct BackendUrl {
  struct Host {
    std::string name;        ///< a name, an IPv4 address, or an IPv6 address without its brackets
    std::uint16_t port = 0;  ///< 0: the scheme's default
    auto operator<=>(const Host&) const = default;
  };

  /// The backend's folder; a text that is never freed. "local" lives inside dlock, the others are programs
  /// (dlock-redis) and packages of their own.
  std::string_view family = "local";
  std::string scheme;       ///< "rediss+sentinel"
  std::string user;         ///< percent-decoded, as everything here
  std::string password;     ///< SECRET: never printed, never in argv or in an environment
  std::vector<Host> hosts;  ///< in the order given; empty for local and Unix sockets
  std::string path;         ///< "/dir", "/0", "/mymaster/0", "/var/run/redis.sock"; empty if none
  std::map<std::string, std::string> params;
  std::string alias;  ///< the backend's name in the configuration, empty for a plain URL

  /// Invalid for a malformed URL; Misconfigured for an unknown query parameter of the scheme. Both name the nearest
  /// right word.
  static Result<BackendUrl> parse(std::string_view text);

  /// The canonical text, with *** for the password: the only form that is ever shown, and by which two stores differ.
  /// `local:` is shown with the directory that it means to this user.
  std::string redacted() const;

  /// A lock of this machine, inside dlock: there is no server.
  bool is_local() const { return family == "local"; }

  /// The value of a query parameter; empty if there is none of that name.
  std::string param(const char* name) const;
};

}  // namespace dlock
