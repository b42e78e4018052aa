// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/redis/wire/byte_stream.h"
#include "backends/redis/wire/connection.h"

namespace dlock::redis {

/// TLS 1.2 or newer over `carrier`, which it owns. The server must show a certificate for settings.server_name, or for
/// `host` if that is empty (a name, or an IP address). The files are read now, so that renewed ones count for the next
/// connection. Misconfigured or Denied for a file that cannot be used; a certificate that cannot be verified is such
/// an error of handshake().
Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> carrier, const TlsSettings& settings,
                                              const std::string& host);

}  // namespace dlock::redis
