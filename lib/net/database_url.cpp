// SPDX-License-Identifier: Apache-2.0
#include "lib/net/database_url.h"

#include <unistd.h>

#include "lib/base/users.h"

namespace dlock {
namespace {

Result<std::optional<TlsSettings>> tls_of(const BackendUrl& url) {
  TRY_ASSIGN(auto tls, tls_settings(url));
  if (tls.ca_file.empty()) {
    if (tls.cert_file.empty() && tls.server_name.empty()) return std::optional<TlsSettings>();
    return Error{ErrorCode::kMisconfigured,
                 tls.cert_file.empty() ? "server-name means nothing without ca-file"
                                       : "cert-file and key-file mean nothing without ca-file",
                 "ca-file turns TLS on: without a checked server certificate there is no TLS"};
  }
  for (const std::string* file : {&tls.ca_file, &tls.cert_file, &tls.key_file}) {
    if (!file->empty() && access(file->c_str(), R_OK) != 0) {
      return Error{ErrorCode::kMisconfigured, "cannot read " + *file, "it was named in the URL"};
    }
  }
  return std::optional(std::move(tls));
}

Result<std::vector<Endpoint>> servers_of(const BackendUrl& url) {
  const std::string socket = url.param("socket");
  if (socket.empty()) return endpoints(url);
  if (url.hosts.size() > 1 || (!url.hosts.empty() && url.hosts.front().name != "localhost")) {
    return Error{ErrorCode::kMisconfigured, "the URL names a socket and hosts",
                 "for the socket write " + url.scheme + ":///DB?socket=FILE"};
  }
  if (!url.param("ca-file").empty())
    return Error{ErrorCode::kMisconfigured, "ca-file means nothing with socket", "leave ca-file out"};
  return std::vector<Endpoint>{{"", url.hosts.empty() ? std::uint16_t{0} : url.hosts.front().port, socket}};
}

}  // namespace

Result<DatabaseUrl> database_url(const BackendUrl& url) {
  TRY_ASSIGN(auto tls, tls_of(url));
  TRY_ASSIGN(auto servers, servers_of(url));
  return DatabaseUrl{std::move(servers),
                     url.user.empty() ? user_name(geteuid()) : url.user,
                     url.password,
                     url.param("password-file"),
                     url.path.substr(url.path.starts_with('/') ? 1 : 0),
                     std::move(tls),
                     url.redacted()};
}

}  // namespace dlock
