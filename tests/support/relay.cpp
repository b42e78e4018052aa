// SPDX-License-Identifier: Apache-2.0
#include "tests/support/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/base/text.h"

namespace dlock {
namespace {

std::optional<std::size_t> resp_size(std::string_view data) {
  std::size_t at = 0;
  for (std::int64_t missing = 1; missing > 0; --missing) {
    const std::size_t line = data.find("\r\n", at);
    if (line == std::string_view::npos) return std::nullopt;
    const char kind = data[at];
    const auto count = leading_number<std::int64_t>(data.substr(at + 1));
    at = line + 2;
    if (kind == '$' && count >= 0) at += static_cast<std::size_t>(count) + 2;
    if (kind == '*' || kind == '>' || kind == '~') missing += count > 0 ? count : 0;
    if (kind == '%') missing += 2 * count;
    if (at > data.size()) return std::nullopt;
  }
  return at;
}

std::optional<std::size_t> with_head(std::string_view data, std::size_t length_bytes, bool highest_first) {
  constexpr std::size_t kHead = 4;
  if (data.size() < kHead) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    const std::size_t from = highest_first ? i : length_bytes - 1 - i;
    length = length << 8 | static_cast<unsigned char>(data[from]);
  }
  return kHead + length <= data.size() ? std::optional(kHead + length) : std::nullopt;
}

using namespace std::chrono_literals;
using Traffic = RelayOrder::Traffic;

/// How long what a full socket does not take may lie.
constexpr Duration kRetryEvery = 2ms;

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Closing it is a reset then.
void reset_on_close(int socket) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool would_block() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

std::optional<std::size_t> message_size(Framing framing, std::string_view data) {
  if (framing == Framing::kRedis) return resp_size(data);
  if (framing == Framing::kFrames) return with_head(data, 4, true);
  return framing == Framing::kPackets ? with_head(data, 3, false) : data.size();
}

Result<RelayPort> open_relay_port(const Address& server) {
  RelayPort port{.listener = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
                 .server = server};
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (!port.listener.valid() || bind(port.listener.get(), address, size) != 0 ||
      listen(port.listener.get(), SOMAXCONN) != 0 || getsockname(port.listener.get(), address, &size) != 0) {
    return system_error("cannot listen on 127.0.0.1", errno);
  }
  port.number = ntohs(here.sin_port);
  return port;
}

void Relay::accept_on(const RelayPort& port) {
  while (true) {
    UniqueFd client(accept4(port.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return;
    if (order_.answers && !order_.refuses && (*order_.answers)-- <= 0) {
      order_.answers = 0;
      unanswered_.push_back(std::move(client));
      continue;
    }
    UniqueFd server(socket(port.server.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool begun = connect(server.get(), port.server.get(), port.server.size) == 0 || errno == EINPROGRESS;
    if (order_.refuses || !begun) {
      reset_on_close(client.get());
      continue;
    }
    send_at_once(client.get());
    send_at_once(server.get());
    const int from = client.get();
    const int to = server.get();
    links_.push_back(
        {std::move(client), std::move(server), {.from = from, .to = to, .requests = true}, {.from = to, .to = from}});
  }
}

void Relay::take_in(Link& link, Stream& stream) {
  char block[65536];
  const ssize_t size = recv(stream.from, block, sizeof block, MSG_DONTWAIT);
  if (size < 0 && !would_block()) {
    reset_on_close(stream.to);
    link.over = true;
  }
  if (size == 0) stream.ended = true;
  if (size <= 0) return;
  stream.rest.append(block, static_cast<std::size_t>(size));
  std::string_view rest = stream.rest;
  while (!rest.empty()) {
    const auto end = message_size(framing_, rest);
    if (!end) break;
    if (traffic(stream) != Traffic::kDrop)
      stream.waiting.emplace_back(clock_.now() + order_.late_by, rest.substr(0, *end));
    rest.remove_prefix(*end);
  }
  stream.rest.erase(0, stream.rest.size() - rest.size());
}

bool Relay::is_due(const Stream& stream) const {
  return traffic(stream) == Traffic::kPass && !stream.waiting.empty() && stream.waiting.front().first <= clock_.now();
}

bool Relay::cut_instead(const Stream& stream) const {
  return order_.cut_behind == 0 && stream.requests == order_.cuts_requests;
}

void Relay::note_handed_on(const Stream& stream) {
  ++(stream.requests ? counts_.requests : counts_.replies);
  if (!order_.cut_behind || stream.requests != order_.cuts_requests) return;
  if (--*order_.cut_behind == 0) reset_all();
}

void Relay::hand_on(Link& link, Stream& stream) {
  if (traffic(stream) == Traffic::kDrop) stream.waiting.clear();
  while (!link.over && is_due(stream)) {
    if (cut_instead(stream)) return reset_all();
    std::string& message = stream.waiting.front().second;
    const ssize_t size = send(stream.to, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && would_block()) return;
    if (size < 0) {
      reset_on_close(stream.from);
      link.over = true;
    } else if (static_cast<std::size_t>(size) < message.size()) {
      message.erase(0, static_cast<std::size_t>(size));
    } else {
      stream.waiting.pop_front();
      note_handed_on(stream);
    }
  }
  if (stream.ended && stream.waiting.empty()) link.over = true;
}

void Relay::reset_all() {
  order_.cut_behind.reset();
  for (Link& link : links_) {
    reset_on_close(link.client.get());
    reset_on_close(link.server.get());
    link.over = true;
  }
}

/// When something that waits goes on; nullopt: nothing does.
std::optional<TimePoint> Relay::next_due() const {
  std::optional<TimePoint> due;
  for (const Link& link : links_) {
    for (const Stream* stream : {&link.requests, &link.replies}) {
      if (stream->waiting.empty() || traffic(*stream) != Traffic::kPass) continue;
      due = std::min(due.value_or(TimePoint::max()), stream->waiting.front().first);
    }
  }
  return due ? std::optional(std::max(*due, clock_.now() + kRetryEvery)) : std::nullopt;
}

void Relay::turn(std::vector<pollfd>& others) {
  std::vector<pollfd> fds = others;
  for (const RelayPort& port : ports_) fds.push_back({port.listener.get(), POLLIN, 0});
  const std::size_t first_link = fds.size();
  for (const Link& link : links_) {
    fds.push_back({link.client.get(), static_cast<short>(link.requests.ended ? 0 : POLLIN), 0});
    fds.push_back({link.server.get(), static_cast<short>(link.replies.ended ? 0 : POLLIN), 0});
  }
  clock_.wait(fds, next_due());
  for (std::size_t i = 0; i < others.size(); ++i) others[i].revents = fds[i].revents;
  std::size_t at = first_link;
  for (Link& link : links_) {
    if (fds[at++].revents != 0) take_in(link, link.requests);
    if (fds[at++].revents != 0) take_in(link, link.replies);
  }
  for (Link& link : links_) {
    hand_on(link, link.requests);
    hand_on(link, link.replies);
  }
  links_.remove_if([](const Link& link) { return link.over; });
  for (const RelayPort& port : ports_) accept_on(port);
}

}  // namespace dlock
