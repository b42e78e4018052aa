// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// What stands behind the scheme of a URL.
enum class UrlShape {
  kDirectory,  ///< local:[/dir]
  kSocket,     ///< redis+unix:///path
  kOneHost,    ///< //host[:port]
  kHosts,      ///< //host1[:port],host2[:port],...
};

/// What the path behind the hosts may be.
enum class UrlPath { kNone, kDatabaseNumber, kMaster, kAnywhere, kDatabaseName };

struct UrlScheme {
  std::string_view name;
  Family family;
  UrlShape shape;
  UrlPath path;
  std::uint16_t port;    ///< what is used when the URL names none; 0: there are no ports
  std::uint32_t topics;  ///< which query parameters it has
};

/// One query parameter. `values` are alternatives between bars: literals, or <text>, <file>, <number>, <bool>.
struct UrlParam {
  std::string_view name;
  std::string_view values;
  std::uint32_t topic;     ///< schemes with this bit have it
  std::string_view needs;  ///< "layout=redisson": means nothing without that one; empty: needs none
};

std::span<const UrlScheme> url_schemes();
std::span<const UrlParam> url_params();

/// nullptr if there is none of that name.
const UrlScheme* find_url_scheme(std::string_view name);
const UrlParam* find_url_param(const UrlScheme& scheme, std::string_view name);

/// Checks one query parameter and gives back its canonical name ('_' and '-' are the same). Misconfigured for a
/// parameter that the scheme does not have, naming the nearest, and for a value that it does not take.
Result<std::string_view> check_url_param(const UrlScheme& scheme, std::string_view name, std::string_view value);

/// Misconfigured if a parameter means nothing without another one.
Result<void> check_url_params_together(const UrlScheme& scheme, const std::map<std::string, std::string>& params);

/// Are the servers where the URL says, in numbers ("localhost" and Unix sockets included) and in plain text? Then a
/// keeper needs no name service and no TLS.
bool is_direct(const BackendUrl& url);
/// Whether the servers of the URL are spoken to through TLS. Where not, a keeper needs no OpenSSL.
bool speaks_tls(const BackendUrl& url);

}  // namespace dlock
