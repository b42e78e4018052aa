// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/verify/conductor.h"
#include "cmd/verify/framing.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/config/backend_url.h"
#include "lib/net/addresses.h"

namespace dlock {

/// A network that fails on command, between workers and servers: one loopback port for each server, and a process that
/// hands on what arrives there. It needs no rights, and dies with us.
class Proxy final : public FaultyNetwork {
 public:
  /// Forks. System if there are no ports.
  static Result<Proxy> start(const std::vector<Address>& servers, Framing framing);

  const std::vector<std::uint16_t>& ports() const { return ports_; }

  void start(const PlannedFault& fault) override;
  void heal() override;

 private:
  UniqueFd control_;
  std::vector<std::uint16_t> ports_;
};

/// Where the servers of a URL are, in its order; names are looked up. An error, with the reason, if not all that a
/// client speaks to can be told from the URL.
Result<std::vector<Address>> servers_to_proxy(const BackendUrl& url);

/// The URL with 127.0.0.1 and `ports` in the place of its hosts. Where certificates are checked they are that of the
/// one host that it had.
BackendUrl through_proxy(BackendUrl url, const std::vector<std::uint16_t>& ports);

}  // namespace dlock
