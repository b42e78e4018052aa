// SPDX-License-Identifier: Apache-2.0
// What the direct keeper (lib/config/url_schemes.h: is_direct) has in the place of lookup.cpp and tls_stream.cpp: it is
// never asked for either, and so needs neither the shared C library with its name service modules nor OpenSSL. The
// linker takes a file from a library only for what nobody has defined yet; these definitions come first.
#include "backends/redis/lookup.h"
#include "backends/redis/tls_stream.h"

namespace dlock::redis {
struct Lookup::Shared {};

Result<Lookup> Lookup::start(const std::string& host, std::uint16_t /*port*/) {
  return Error{ErrorCode::kUnavailable, host + " is no address"};
}
int Lookup::fd() const { return -1; }
std::optional<Result<std::vector<Address>>> Lookup::take() { return std::nullopt; }

Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> /*carrier*/, const TlsSettings& /*settings*/,
                                              const std::string& host) {
  return Error{ErrorCode::kInternal, "the direct keeper was asked for TLS to " + host, "this is a bug in dlock"};
}

}  // namespace dlock::redis
