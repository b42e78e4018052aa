// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/proxy.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "cmd/verify/relay.h"
#include "lib/base/system_error.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLateBy = 60ms;

Result<RelayPort> listen_for(const Address& server) {
  RelayPort port{.listener = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
                 .server = server};
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (!port.listener.valid() || bind(port.listener.get(), address, size) != 0 ||
      listen(port.listener.get(), SOMAXCONN) != 0 || getsockname(port.listener.get(), address, &size) != 0) {
    return system_error("cannot listen on 127.0.0.1 for the proxy", errno);
  }
  port.number = ntohs(here.sin_port);
  return port;
}

}  // namespace

Result<Proxy> Proxy::start(const std::vector<Address>& servers) {
  Proxy proxy;
  std::vector<RelayPort> ports;
  for (const Address& server : servers) {
    auto port = listen_for(server);
    if (!port) return port.error();
    proxy.ports_.push_back(port->number);
    ports.push_back(std::move(*port));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("cannot make a socket pair", errno);
  }
  const pid_t pid = fork();
  if (pid < 0) return system_error("cannot start the proxy", errno);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    Relay(std::move(ports), UniqueFd(ends[1])).run();
    _exit(0);
  }
  close(ends[1]);
  proxy.control_ = UniqueFd(ends[0]);
  return proxy;
}

void Proxy::start(const PlannedFault& fault) {
  RelayOrder order;
  if (fault.fault == Fault::kStall) order.holds_requests = order.holds_replies = true;
  if (fault.fault == Fault::kOneWay) (fault.requests ? order.holds_requests : order.holds_replies) = true;
  if (fault.fault == Fault::kDelay) order.late_by = kLateBy;
  if (fault.fault == Fault::kCut) order.cut_behind = fault.messages;
  order.cuts_requests = fault.requests;
  (void)send(control_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

void Proxy::heal() {
  const RelayOrder order;
  (void)send(control_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

Result<std::vector<Address>> servers_to_proxy(const BackendUrl& url) {
  const auto no = [](std::string why) { return Error{ErrorCode::kUnsupported, std::move(why)}; };
  const UrlScheme& scheme = *find_url_scheme(url.scheme);
  if (url.is_local()) return no("there is no network");
  if (url.hosts.empty()) return no("it is a socket of this machine");
  if ((scheme.topics & kNamesOthersUrl) != 0) return no("its servers name each other, past any proxy");
  std::vector<Address> servers;
  for (const BackendUrl::Host& host : url.hosts) {
    const auto known = known_addresses(host.name, host.port != 0 ? host.port : scheme.port);
    if (known.empty()) return no("the proxy knows no names: give the address of " + host.name);
    servers.push_back(known.front());
  }
  return servers;
}

BackendUrl through_proxy(BackendUrl url, const std::vector<std::uint16_t>& ports) {
  url.hosts.clear();
  for (const std::uint16_t port : ports) url.hosts.push_back({"127.0.0.1", port});
  return url;
}

}  // namespace dlock
