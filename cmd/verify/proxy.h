// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/verify/conductor.h"
#include "cmd/verify/framing.h"
#include "cmd/verify/lab.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"
#include "lib/config/backend_url.h"
#include "lib/net/addresses.h"

namespace dlock {

/// A server that a proxy is to stand before.
struct ProxiedServer {
  std::string name;  ///< "host:port": what the URL, or another server, calls it
  Address address;
};

/// A network that fails on command, between workers and servers: one loopback port for each server, and a process that
/// hands on what arrives there. It needs no rights, and dies with us.
class Proxy final : public FaultyNetwork {
 public:
  /// Forks. System if there are no ports.
  static Result<Proxy> start(const std::vector<ProxiedServer>& servers, Framing framing);

  const std::vector<std::uint16_t>& ports() const { return ports_; }

  void start(const PlannedFault& fault) override;
  void heal() override;

 private:
  UniqueFd control_;
  std::vector<std::uint16_t> ports_;
};

/// The servers of the store of `lab`: those of its URL, in its order, and where they name each other all of them, which
/// the store is asked for. Hosts are looked up. An error, with the reason, if there is no network, or no address.
Result<std::vector<ProxiedServer>> servers_to_proxy(const Lab& lab);

/// The URL with the ports of a proxy for `servers`: 127.0.0.1 in the place of its hosts, or where servers name each
/// other an address-map. Where certificates are checked they are those of the names that the servers have without it.
BackendUrl through_proxy(BackendUrl url, const std::vector<ProxiedServer>& servers,
                         const std::vector<std::uint16_t>& ports);

}  // namespace dlock
