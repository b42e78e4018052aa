// SPDX-License-Identifier: Apache-2.0
// What the keepers without TLS (lib/config/url_schemes.h: speaks_tls) have in the place of tls_stream.cpp, and so need
// no OpenSSL. The linker takes a file from a library only for what nobody has defined yet; these come first.
#include "backends/redis/wire/tls_stream.h"

namespace dlock::redis {

Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> /*carrier*/, const TlsSettings& /*settings*/,
                                              const std::string& host) {
  return Error{ErrorCode::kInternal, "a keeper without TLS was asked for TLS to " + host, "this is a bug in dlock"};
}

}  // namespace dlock::redis
