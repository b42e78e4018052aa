// SPDX-License-Identifier: Apache-2.0
// What the direct keeper (lib/config/url_schemes.h: is_direct) has in the place of lookup.cpp: it is never asked for a
// name, and so needs no shared C library with its name service modules. The linker takes a file from a library only for
// what nobody has defined yet; these definitions come first.
#include "lib/net/lookup.h"

namespace dlock {

struct Lookup::Shared {};

Result<Lookup> Lookup::start(const std::string& host, std::uint16_t /*port*/) {
  return Error{ErrorCode::kUnavailable, host + " is no address"};
}
int Lookup::fd() const { return -1; }
std::optional<Result<std::vector<Address>>> Lookup::take() { return std::nullopt; }

}  // namespace dlock
