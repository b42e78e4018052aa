// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/backend_url.h"
#include "lib/net/addresses.h"
#include "lib/net/tls_settings.h"

namespace dlock::postgres {

/// How locks are kept in the database (?strategy=).
enum class Strategy { kLease, kSession };

struct Settings {
  std::vector<Endpoint> servers;  ///< in the order of the URL
  std::string user;
  std::string password;       ///< SECRET
  std::string password_file;  ///< read again when the server refuses the login; empty: none
  std::string database;
  /// The server must show a certificate of the ca_file for its host. Empty ca_file: no TLS; there is nothing in
  /// between.
  TlsSettings tls;
  Strategy strategy = Strategy::kLease;
  std::string store;  ///< redacted URL
};

/// Misconfigured for a URL that cannot be served: incomplete TLS parameters, a socket and hosts.
Result<Settings> settings_of(const BackendUrl& url);

}  // namespace dlock::postgres
