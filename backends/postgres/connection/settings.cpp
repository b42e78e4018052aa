// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/settings.h"

#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/users.h"
#include "lib/config/url_schemes.h"

namespace dlock::postgres {
namespace {

Result<TlsSettings> tls_of(const BackendUrl& url) {
  TRY_ASSIGN(auto tls, tls_settings(url));
  if (tls.ca_file.empty() && !(tls.cert_file.empty() && tls.server_name.empty())) {
    return Error{ErrorCode::kMisconfigured, "cert-file, key-file and server-name mean nothing without ca-file",
                 "ca-file turns TLS on: without a checked server certificate there is no TLS"};
  }
  for (const std::string* file : {&tls.ca_file, &tls.cert_file, &tls.key_file}) {
    if (!file->empty() && access(file->c_str(), R_OK) != 0) {
      return Error{ErrorCode::kMisconfigured, "cannot read " + *file, "it was named in the URL"};
    }
  }
  return tls;
}

/// The server's own file in its folder, ".s.PGSQL.5432"; or the folder alone.
Endpoint socket_of(const std::string& file, std::uint16_t usual_port) {
  constexpr std::string_view kName = "/.s.PGSQL.";
  const std::size_t at = file.rfind(kName);
  if (at == std::string::npos) return {"", usual_port, file};
  return {"", leading_number<std::uint16_t>(std::string_view(file).substr(at + kName.size())), file.substr(0, at)};
}

}  // namespace

Result<Settings> settings_of(const BackendUrl& url) {
  TRY_ASSIGN(auto tls, tls_of(url));
  Settings settings{.servers = endpoints(url),
                    .user = url.user.empty() ? user_name(geteuid()) : url.user,
                    .password = url.password,
                    .password_file = url.param("password-file"),
                    .database = url.path.substr(url.path.starts_with('/') ? 1 : 0),
                    .tls = std::move(tls),
                    .strategy = url.param("strategy") == "session" ? Strategy::kSession : Strategy::kLease,
                    .store = url.redacted()};
  const std::string socket = url.param("socket");
  if (socket.empty()) return settings;
  if (url.hosts.size() > 1 || (!url.hosts.empty() && url.hosts.front().name != "localhost")) {
    return Error{ErrorCode::kMisconfigured, "the URL names a socket and hosts",
                 "for the socket write postgres:///DB?socket=FILE"};
  }
  if (!settings.tls.ca_file.empty())
    return Error{ErrorCode::kMisconfigured, "ca-file means nothing with socket", "leave ca-file out"};
  settings.servers = {socket_of(socket, find_url_scheme(url.scheme)->port)};
  return settings;
}

}  // namespace dlock::postgres
