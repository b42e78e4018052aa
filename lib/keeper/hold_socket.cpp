// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/hold_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/packets.h"
#include "lib/base/process.h"
#include "lib/base/text.h"
#include "lib/keeper/message.h"
#include "lib/run/descendants.h"

namespace dlock {
namespace {

constexpr Duration kCountBudget = std::chrono::milliseconds(100);

std::string half(const std::string& text) { return text.substr(0, text.size() / 2); }

std::string names_of(const Owner& owner) { return "dlock/" + half(owner.text()) + "/"; }

struct Address {
  explicit Address(std::string_view name) {
    name = name.substr(0, sizeof place.sun_path - 1);
    place.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), place.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&place); }

  sockaddr_un place{};
  socklen_t size;
};

UniqueFd make_socket() { return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// Who is at the other end; of a listener: who began to listen. No pid: it is not known, or not seen from here.
ucred peer_of(const UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer;
}

bool may_enter(const ucred& peer, const ucred& supervisor) {
  if (peer.pid <= 0) return false;
  if (peer.uid == geteuid() || peer.uid == 0) return true;
  return geteuid() == 0 && supervisor.pid > 0 && descends_from(peer.pid, supervisor.pid);
}

template <typename Believed>
UniqueFd connect_to(const std::string& name, const Believed& believed) {
  UniqueFd connection = make_socket();
  const Address address(name);
  if (!connection.valid() || connect(connection.get(), address.get(), address.size) != 0) return {};
  const ucred peer = peer_of(connection);
  const bool ours = peer.pid > 0 && (peer.uid == geteuid() || believed(peer.pid));
  return ours ? std::move(connection) : UniqueFd();
}

std::optional<int> count_told_by(const UniqueFd& hold, Clock& clock) {
  if (!hold.valid()) return std::nullopt;
  send_packet(hold.get(), encode({std::string(kCount), {}}));
  std::vector<pollfd> fds{{hold.get(), POLLIN, 0}};
  clock.wait(fds, clock.now() + kCountBudget);
  static char packet[kLargestMessage];
  const ssize_t size = receive_packet(hold.get(), packet);
  const auto answer = size > 0 ? decode({packet, static_cast<std::size_t>(size)}) : Result<Message>(broken_message(""));
  if (!answer || answer->verb != kCount) return std::nullopt;
  MessageReader in(*answer);
  int count = 0;
  in("entries", count);
  return in.ok() ? std::optional(count) : std::nullopt;
}

}  // namespace

UniqueFd listen_for_entries(const Owner& owner, const std::string& secret) {
  UniqueFd listener = make_socket();
  const Address address(names_of(owner) + half(secret));
  const bool listens = listener.valid() && bind(listener.get(), address.get(), address.size) == 0 &&
                       listen(listener.get(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : UniqueFd();
}

UniqueFd accept_entry(const UniqueFd& listener) {
  while (true) {
    UniqueFd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid() || may_enter(peer_of(connection), peer_of(listener))) return connection;
  }
}

pid_t foreign_run(const UniqueFd& connection) {
  const ucred peer = peer_of(connection);
  return geteuid() == 0 && peer.uid != 0 ? peer.pid : 0;
}

UniqueFd connect_to_hold(const HeldClaim& claim) {
  return connect_to(names_of(claim.owner) + half(claim.secret),
                    [](pid_t peer) { return descends_from(getpid(), peer); });
}

/// Of the names that this machine has; one that somebody else has made up is not that of `pid`.
std::optional<int> ask_for_count(const Owner& owner, pid_t pid, Clock& clock) {
  const std::string sockets = read_proc(getpid(), "net/unix");
  const std::string sought = "@" + names_of(owner);
  for (std::size_t at = sockets.find(sought); at != std::string::npos; at = sockets.find(sought, at + 1)) {
    const std::string name = sockets.substr(at + 1, sockets.find('\n', at) - at - 1);
    const auto count = count_told_by(connect_to(name, [&](pid_t peer) { return peer == pid; }), clock);
    if (count) return count;
  }
  return std::nullopt;
}

}  // namespace dlock
