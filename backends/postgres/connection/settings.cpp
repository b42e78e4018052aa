// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/settings.h"

#include "lib/base/text.h"
#include "lib/config/url_schemes.h"

namespace dlock::postgres {
namespace {

/// The server's own file in its folder, ".s.PGSQL.5432"; or the folder alone, where the file is that of `port`.
Endpoint socket_of(const std::string& file, std::uint16_t port) {
  constexpr std::string_view kName = "/.s.PGSQL.";
  const std::size_t at = file.rfind(kName);
  if (at == std::string::npos) return {"", port, file};
  return {"", leading_number<std::uint16_t>(std::string_view(file).substr(at + kName.size())), file.substr(0, at)};
}

}  // namespace

Result<Settings> settings_of(const BackendUrl& url) {
  TRY_ASSIGN(auto database, database_url(url));
  Settings settings{std::move(database), url.param("strategy") == "session" ? Strategy::kSession : Strategy::kLease};
  Endpoint& first = settings.servers.front();
  if (!first.socket.empty())
    first = socket_of(first.socket, first.port == 0 ? find_url_scheme(url.scheme)->port : first.port);
  return settings;
}

}  // namespace dlock::postgres
