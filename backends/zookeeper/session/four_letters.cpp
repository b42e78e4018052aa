// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/four_letters.h"

#include <sys/socket.h>

#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/net/addresses.h"

namespace dlock::zookeeper {
namespace {

/// False: not by `until`.
bool wait_for(int fd, short events, TimePoint until, Clock& clock) {
  while (clock.now() < until) {
    std::vector<pollfd> fds{{fd, events, 0}};
    clock.wait(fds, until);
    if (fds.front().revents != 0) return true;
  }
  return false;
}

Error failed(const std::string& address, const std::string& why) {
  return {ErrorCode::kUnavailable, "cannot reach " + address + ": " + why,
          "check that the server runs, and the network"};
}

Result<UniqueFd> connect_to(const std::string& address, TimePoint until, Clock& clock) {
  const std::size_t colon = address.rfind(':');
  const auto port = leading_number<std::uint16_t>(std::string_view(address).substr(colon + 1));
  const auto known = known_addresses(address.substr(0, colon), port);
  if (known.empty()) return failed(address, "not an address");
  UniqueFd fd(socket(known.front().get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_error("cannot make a socket", errno);
  if (connect(fd.get(), known.front().get(), known.front().size) == 0) return fd;
  if (errno != EINPROGRESS) return failed(address, errno_text(errno));
  if (!wait_for(fd.get(), POLLOUT, until, clock)) return failed(address, "no answer");
  int errnum = 0;
  socklen_t size = sizeof errnum;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &errnum, &size);
  if (errnum != 0) return failed(address, errno_text(errnum));
  return fd;
}

}  // namespace

Result<std::string> ask_server(const std::string& address, std::string_view word, TimePoint until, Clock& clock) {
  const auto fd = connect_to(address, until, clock);
  if (!fd) return fd.error();
  if (send(fd->get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return failed(address, errno_text(errno));
  std::string text;
  char buffer[4096];
  while (wait_for(fd->get(), POLLIN, until, clock)) {
    const ssize_t size = recv(fd->get(), buffer, sizeof buffer, 0);
    if (size == 0) return text;
    if (size < 0 && errno != EAGAIN && errno != EINTR) return failed(address, errno_text(errno));
    if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
  }
  return failed(address, "no answer");
}

std::map<std::string, std::string> parse_answer(std::string_view text) {
  std::map<std::string, std::string> fields;
  while (!text.empty()) {
    const std::string_view line = cut(text, '\n');
    const std::size_t at = line.find_first_of(":=");
    if (at == std::string_view::npos) continue;
    std::string_view value = line.substr(at + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    fields.emplace(line.substr(0, at), value);
  }
  return fields;
}

}  // namespace dlock::zookeeper
