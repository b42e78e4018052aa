// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/proxy.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/config/url_schemes.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLateBy = 60ms;

/// Obeys the orders that come as packets, until there can be no more.
void serve(Relay relay, const UniqueFd& orders) {
  while (true) {
    std::vector<pollfd> control{{orders.get(), POLLIN, 0}};
    relay.turn(control);
    if (control[0].revents == 0) continue;
    RelayOrder order;
    if (recv(orders.get(), &order, sizeof order, MSG_DONTWAIT) != sizeof order) return;
    relay.order() = order;
  }
}

/// The addresses of a name, as every program of this machine finds them: this one is static, and asks getent(1).
std::vector<Address> look_up(const std::string& host, std::uint16_t port) {
  std::string answer;
  (void)run_program({"getent", "ahosts", host.c_str()}, [&](int output) { answer = read_to_end(output); });
  std::vector<Address> addresses;
  for (std::string_view rest = answer; !rest.empty();) {
    std::string_view line = cut(rest, '\n');
    const std::string address(cut(line, ' '));
    if (line.find("STREAM") == std::string_view::npos) continue;
    for (const Address& one : known_addresses(address, port)) addresses.push_back(one);
  }
  return addresses;
}

bool can_connect(const Address& address) {
  const UniqueFd fd(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(fd.get(), address.get(), address.size) == 0) return true;
  SystemClock clock;
  const TimePoint limit = clock.now() + 2s;
  std::vector<pollfd> fds{{fd.get(), POLLOUT, 0}};
  while (errno == EINPROGRESS && fds[0].revents == 0 && clock.now() < limit) clock.wait(fds, limit);
  return (fds[0].revents & (POLLOUT | POLLERR | POLLHUP)) == POLLOUT;
}

/// The first address of a host that takes connections; if none does the first one. Unavailable: it has none.
Result<Address> find_server(const std::string& host, std::uint16_t port) {
  auto addresses = known_addresses(host, port);
  if (addresses.empty()) addresses = look_up(host, port);
  if (addresses.empty()) return Error{ErrorCode::kUnavailable, "the proxy finds no address of " + host};
  const auto there = std::find_if(addresses.begin(), addresses.end(), can_connect);
  return there == addresses.end() ? addresses.front() : *there;
}

bool name_others(const UrlScheme& scheme) { return (scheme.topics & kNamesOthersUrl) != 0; }

/// What the store says of its servers: NAME PLACE, a line for each.
Result<std::vector<ProxiedServer>> named_servers(const Sandbox& sandbox) {
  const auto answer = sandbox.ask_store({"__servers", "--log-format", "json"});
  if (!answer) return answer.error();
  if (answer->status != 0) return Error{ErrorCode::kUnavailable, last_message(answer->said)};
  std::vector<ProxiedServer> servers;
  for (std::string_view rest = answer->out; !rest.empty();) {
    std::string_view place = cut(rest, '\n');
    const std::string name(cut(place, ' '));
    const std::size_t colon = std::min(place.rfind(':'), place.size());
    std::string host(place.substr(0, colon));
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    auto server = find_server(host, leading_number<std::uint16_t>(place.substr(std::min(colon + 1, place.size()))));
    if (!server) return server.error();
    servers.push_back({name, *server});
  }
  return servers;
}

}  // namespace

Result<Proxy> Proxy::start(const std::vector<ProxiedServer>& servers, Framing framing) {
  Proxy proxy;
  std::vector<RelayPort> ports;
  for (const ProxiedServer& server : servers) {
    auto port = open_relay_port(server.address);
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
    serve(Relay(std::move(ports), framing), UniqueFd(ends[1]));
    _exit(0);
  }
  close(ends[1]);
  proxy.control_ = UniqueFd(ends[0]);
  return proxy;
}

void Proxy::start(const PlannedFault& fault) const {
  RelayOrder order;
  const bool one_way = fault.fault == Fault::kOneWay;
  const bool stalls = fault.fault == Fault::kStall;
  if (stalls || (one_way && fault.requests)) order.requests = RelayOrder::Traffic::kHold;
  if (stalls || (one_way && !fault.requests)) order.replies = RelayOrder::Traffic::kHold;
  if (fault.fault == Fault::kDelay) order.late_by = kLateBy;
  if (fault.fault == Fault::kCut) order.cut_behind = fault.messages;
  order.cuts_requests = fault.requests;
  (void)send(control_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

void Proxy::heal() const {
  const RelayOrder order;
  (void)send(control_.get(), &order, sizeof order, MSG_NOSIGNAL);
}

Result<std::vector<ProxiedServer>> servers_to_proxy(const Sandbox& sandbox) {
  const BackendUrl& url = sandbox.url();
  const auto no = [](std::string why) { return Error{ErrorCode::kUnsupported, std::move(why)}; };
  const UrlScheme& scheme = *find_url_scheme(url.scheme);
  if (url.is_local()) return no("it has no network");
  if (url.hosts.empty()) return no("it is a socket of this machine");
  if (name_others(scheme)) return named_servers(sandbox);
  std::vector<ProxiedServer> servers;
  for (const BackendUrl::Host& host : url.hosts) {
    auto server = find_server(host.name, host.port != 0 ? host.port : scheme.port);
    if (!server) return server.error();
    servers.push_back({host.name, *server});
  }
  return servers;
}

BackendUrl through_proxy(BackendUrl url, const std::vector<ProxiedServer>& servers,
                         const std::vector<std::uint16_t>& ports) {
  if (name_others(*find_url_scheme(url.scheme))) {
    std::string& map = url.params["address-map"];
    map.clear();
    for (std::size_t i = 0; i < servers.size(); ++i) {
      map += (i == 0 ? "" : ",") + servers[i].name + "=127.0.0.1:" + std::to_string(ports[i]);
    }
    return url;
  }
  // A certificate is of the name, which is not the proxy's.
  const bool certified = url.scheme.starts_with("rediss") || url.params.contains("ca-file");
  if (certified && url.hosts.size() == 1) url.params.try_emplace("server-name", url.hosts.front().name);
  url.hosts.clear();
  for (const std::uint16_t port : ports) url.hosts.push_back({"127.0.0.1", port});
  return url;
}

}  // namespace dlock
