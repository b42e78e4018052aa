// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/backend_url.h"
#include "lib/net/addresses.h"
#include "lib/net/tls_settings.h"

namespace dlock {

/// What the URL of a database says of its servers, one of which takes changes.
struct DatabaseUrl {
  std::vector<Endpoint> servers;  ///< in the order of the URL; of a socket, a port that the URL names beside it, or 0
  std::string user;               ///< whoever we are, if the URL names none
  std::string password;           ///< SECRET
  std::string password_file;      ///< read again when the server refuses the login; empty: none
  std::string database;
  /// The server must show a certificate of the ca_file for its host. There is no weaker form: a user who wants TLS
  /// without a check gets an error, not an illusion.
  std::optional<TlsSettings> tls;
  std::string store;  ///< the URL without its password
};

/// Misconfigured for a URL that cannot be served: half of TLS, a file that cannot be read, a socket and hosts.
Result<DatabaseUrl> database_url(const BackendUrl& url);

}  // namespace dlock
