// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/config/backend_url.h"

namespace dlock {

/// What a URL says about TLS.
struct TlsSettings {
  std::string ca_file;    ///< empty: the system's, where the store takes those
  std::string cert_file;  ///< client certificate, with key_file; empty: none
  std::string key_file;
  std::string server_name;  ///< verified, and sent as SNI; empty: the endpoint's host
};

/// Misconfigured for half a client certificate. The files are not looked at.
inline Result<TlsSettings> tls_settings(const BackendUrl& url) {
  TlsSettings tls{url.param("ca-file"), url.param("cert-file"), url.param("key-file"), url.param("server-name")};
  if (tls.cert_file.empty() == tls.key_file.empty()) return tls;
  return Error{ErrorCode::kMisconfigured, "a client certificate takes both cert-file and key-file",
               tls.cert_file.empty() ? "add cert-file" : "add key-file"};
}

}  // namespace dlock
