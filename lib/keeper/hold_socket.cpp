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
#include "lib/keeper/message.h"

namespace dlock {
namespace {

constexpr Duration kCountBudget = std::chrono::milliseconds(100);

struct Address {
  explicit Address(const Owner& owner) {
    const std::string name = "dlock/" + owner.text().substr(0, owner.text().size() / 2);
    place.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), place.sun_path + 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&place); }

  sockaddr_un place{};
  socklen_t size;
};

UniqueFd make_socket() { return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// The pid of the other end, if it may be trusted, and processes of the other end can be watched.
std::optional<pid_t> trusted_peer(const UniqueFd& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  const uid_t own = geteuid();
  const bool trusted = peer.uid == own || peer.uid == 0 || own == 0;
  return trusted && peer.pid > 0 ? std::optional(peer.pid) : std::nullopt;
}

}  // namespace

UniqueFd listen_for_entries(const Owner& owner) {
  UniqueFd listener = make_socket();
  const Address address(owner);
  const bool listens = listener.valid() && bind(listener.get(), address.get(), address.size) == 0 &&
                       listen(listener.get(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : UniqueFd();
}

UniqueFd accept_entry(const UniqueFd& listener) {
  while (true) {
    UniqueFd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid() || trusted_peer(connection)) return connection;
  }
}

HoldConnection connect_to_hold(const Owner& owner) {
  UniqueFd connection = make_socket();
  const Address address(owner);
  if (!connection.valid() || connect(connection.get(), address.get(), address.size) != 0) return {};
  const auto keeper = trusted_peer(connection);
  return keeper ? HoldConnection{std::move(connection), *keeper} : HoldConnection();
}

std::optional<int> ask_for_count(const Owner& owner, Clock& clock) {
  const HoldConnection hold = connect_to_hold(owner);
  if (!hold.socket.valid()) return std::nullopt;
  send_packet(hold.socket.get(), encode({std::string(kCount), {{"owner", owner.text()}}}));
  std::vector<pollfd> fds{{hold.socket.get(), POLLIN, 0}};
  clock.wait(fds, clock.now() + kCountBudget);
  static char packet[kLargestMessage];
  const ssize_t size = receive_packet(hold.socket.get(), packet);
  const auto answer = size > 0 ? decode({packet, static_cast<std::size_t>(size)}) : Result<Message>(broken_message(""));
  if (!answer || answer->verb != kCount) return std::nullopt;
  MessageReader in(*answer);
  const auto count = static_cast<int>(in.number("entries"));
  return in.ok() ? std::optional(count) : std::nullopt;
}

}  // namespace dlock
