// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// The part after the scheme of a URL.
enum class UrlShape {
  kDirectory,  ///< local:[/dir]
  kSocket,     ///< redis+unix:///path
  kOneHost,    ///< //host[:port]
  kHosts,      ///< //host1[:port],host2[:port],...
};

/// Forms of the path after the hosts.
enum class UrlPath { kNone, kDatabaseNumber, kMaster, kAnywhere, kDatabaseName };

/// Which query parameters a scheme has: bits. The first ones are those of every server; a backend counts its own from
/// kOwnUrlTopic on.
enum UrlTopic : std::uint32_t {
  kServerUrl = 1,       ///< a server, which may want a password
  kTlsUrl = 2,          ///< may be spoken to through TLS
  kNamesOthersUrl = 4,  ///< the servers of the URL name others, as they like
  kOwnUrlTopic = 8,
};

struct UrlScheme {
  std::string_view name;
  UrlShape shape;
  UrlPath path;
  std::uint16_t port;  ///< the default; 0: there are no ports
  std::uint32_t topics;
  std::uint8_t least_hosts = 1;  ///< of kHosts
};

/// One query parameter. `values` are alternatives between bars: literals, or <text>, <name>, <file>, <number>, <bool>.
struct UrlParam {
  std::string_view name;
  std::string_view values;
  std::uint32_t topic;     ///< schemes with this bit have it
  std::string_view needs;  ///< "a=x|y&b": means nothing without one of these values of a, and any of b
};

/// A backend whose URLs are directories (UrlShape::kDirectory).
struct UrlDirectories {
  std::string_view word{};  ///< may stand for `directory`: "system"
  std::string_view directory{};
  Result<std::string> (*usual)() = nullptr;  ///< which one is meant where the URL names none
};

/// The URLs of one backend, as backends/NAME/url.h describes them in its kUrls.
struct UrlTable {
  std::string_view family;  ///< the folder's name: also the end of the program's and the package's (dlock-redis)
  std::span<const UrlScheme> schemes;
  std::span<const UrlParam> params;
  std::string_view usual;            ///< for people: "redis://, redlock:// and so on"
  std::string_view several_hosts{};  ///< the scheme for several servers, if not every scheme takes them
  UrlDirectories directories{};
};

/// All backends, those that this build leaves out as well: made from backends/CMakeLists.txt.
std::span<const UrlTable> url_tables();

/// Calls `use(name)` for the parameters of all schemes.
void for_each_url_param(const std::function<void(std::string_view name)>& use);

/// The backend that has this scheme.
const UrlTable& table_of(const UrlScheme& scheme);

/// nullptr if there is none of that name.
const UrlScheme* find_url_scheme(std::string_view name);
const UrlParam* find_url_param(const UrlScheme& scheme, std::string_view name);

/// Checks one query parameter and gives back its canonical name ('_' and '-' are the same). Misconfigured for a
/// parameter that the scheme does not have, naming the nearest, and for a value that it does not take.
Result<std::string_view> check_url_param(const UrlScheme& scheme, std::string_view name, std::string_view value);

/// Misconfigured if a parameter means nothing without another one.
Result<void> check_url_params_together(const UrlScheme& scheme, const std::map<std::string, std::string>& params);

}  // namespace dlock
