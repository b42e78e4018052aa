// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/verify/relay.h"
#include "cmd/verify/sandbox.h"
#include "cmd/verify/schedule.h"
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

/// A network between workers and servers that fails when it is told to: one port of 127.0.0.1 for each server, and a
/// second process that passes on what arrives there (Relay). It needs no privileges, and ends when this process does.
class Proxy {
 public:
  /// Forks. System if a port cannot be opened, or no process started.
  static Result<Proxy> start(const std::vector<ProxiedServer>& servers, Framing framing);

  const std::vector<std::uint16_t>& ports() const { return ports_; }  ///< in the order of the servers

  /// At most one fault at a time: heal() ends the one that was started.
  void start(const PlannedFault& fault) const;
  void heal() const;

 private:
  UniqueFd control_;
  std::vector<std::uint16_t> ports_;
};

/// The servers of the sandbox's store: those of its URL, in that order; for a cluster or Sentinel the store is asked
/// for all. Fails, with the reason, if no proxy can stand before it, a host has no address, or the store does not
/// answer.
Result<std::vector<ProxiedServer>> servers_to_proxy(const Sandbox& sandbox);

/// `url` such that its servers are reached through `ports`, those of a proxy for `servers`. Certificates are checked
/// against the names that the servers have without the proxy.
BackendUrl through_proxy(BackendUrl url, const std::vector<ProxiedServer>& servers,
                         const std::vector<std::uint16_t>& ports);

}  // namespace dlock
