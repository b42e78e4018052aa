// SPDX-License-Identifier: Apache-2.0
#include "lib/base/packets.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace dlock {
namespace {

struct Envelope {
  Envelope(char* bytes, std::size_t size) : text{bytes, size} {
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  iovec text;
  msghdr header{};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
};

ssize_t receive_with_descriptor(int socket, std::span<char> packet, UniqueFd& passed) {
  Envelope envelope(packet.data(), packet.size());
  const ssize_t size = recvmsg(socket, &envelope.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* beside = size < 0 ? nullptr : CMSG_FIRSTHDR(&envelope.header);
  if (beside && beside->cmsg_level == SOL_SOCKET && beside->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(beside), sizeof fd);
    passed = UniqueFd(fd);
  }
  return size > 0 && (envelope.header.msg_flags & MSG_TRUNC) != 0 ? static_cast<ssize_t>(packet.size() + 1) : size;
}

/// More than the size of `packet`: so long was it at least.
ssize_t receive_any(int socket, std::span<char> packet, UniqueFd* passed) {
  if (passed) return receive_with_descriptor(socket, packet, *passed);
  return recv(socket, packet.data(), packet.size(), MSG_DONTWAIT | MSG_TRUNC);
}

ssize_t receive_once(int socket, std::span<char> packet, UniqueFd* passed) {
  const ssize_t size = receive_any(socket, packet, passed);
  if (size <= static_cast<ssize_t>(packet.size())) return size;
  if (passed) passed->reset();
  errno = EMSGSIZE;
  return -1;
}

}  // namespace

ssize_t receive_packet(int socket, std::span<char> packet, UniqueFd* passed) {
  const ssize_t size = receive_once(socket, packet, passed);
  return size < 0 && errno == ECONNRESET ? receive_once(socket, packet, passed) : size;
}

ssize_t send_packet(int socket, std::string_view packet, int descriptor) {
  if (descriptor < 0) return send(socket, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  Envelope envelope(const_cast<char*>(packet.data()), packet.size());
  cmsghdr* beside = CMSG_FIRSTHDR(&envelope.header);
  beside->cmsg_len = CMSG_LEN(sizeof descriptor);
  beside->cmsg_level = SOL_SOCKET;
  beside->cmsg_type = SCM_RIGHTS;
  std::memcpy(CMSG_DATA(beside), &descriptor, sizeof descriptor);
  return sendmsg(socket, &envelope.header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace dlock
