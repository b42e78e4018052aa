// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// How long what a full or a late stream keeps may lie.
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

bool Relay::obey() {
  const ssize_t size = recv(control_.get(), &order_, sizeof order_, MSG_DONTWAIT);
  return size == sizeof order_ || (size < 0 && would_block());
}

void Relay::accept_on(const RelayPort& port) {
  while (true) {
    UniqueFd client(accept4(port.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return;
    UniqueFd server(socket(port.server.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int done = connect(server.get(), port.server.get(), port.server.size);
    if (done != 0 && errno != EINPROGRESS) {
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
  if (size > 0)
    stream.waiting.emplace_back(clock_.now() + order_.late_by, std::string(block, static_cast<std::size_t>(size)));
  else if (size == 0) stream.ended = true;
  else if (!would_block()) link.over = true;
}

bool Relay::is_held(const Stream& stream) const {
  return stream.requests ? order_.holds_requests : order_.holds_replies;
}

/// Counts a message that is about to be handed on.
bool Relay::cuts_here(const Stream& stream) {
  if (order_.cut_behind < 0 || stream.requests != order_.cuts_requests) return false;
  return order_.cut_behind-- == 0;
}

void Relay::hand_on(Link& link, Stream& stream) {
  while (!link.over && !is_held(stream) && !stream.waiting.empty() && stream.waiting.front().first <= clock_.now()) {
    std::string& message = stream.waiting.front().second;
    if (cuts_here(stream)) return reset_all();
    const ssize_t size = send(stream.to, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && would_block()) return;
    if (size < 0) link.over = true;
    else if (static_cast<std::size_t>(size) < message.size()) message.erase(0, static_cast<std::size_t>(size));
    else stream.waiting.pop_front();
  }
  if (stream.ended && stream.waiting.empty()) link.over = true;
}

void Relay::reset_all() {
  for (Link& link : links_) {
    reset_on_close(link.client.get());
    reset_on_close(link.server.get());
    link.over = true;
  }
}

void Relay::run() {
  while (true) {
    std::vector<pollfd> fds{{control_.get(), POLLIN, 0}};
    for (const RelayPort& port : ports_) fds.push_back({port.listener.get(), POLLIN, 0});
    const std::size_t first_link = fds.size();
    bool waiting = false;
    for (Link& link : links_) {
      fds.push_back({link.client.get(), static_cast<short>(link.requests.ended ? 0 : POLLIN), 0});
      fds.push_back({link.server.get(), static_cast<short>(link.replies.ended ? 0 : POLLIN), 0});
      for (const Stream* stream : {&link.requests, &link.replies}) {
        waiting = waiting || (!stream->waiting.empty() && !is_held(*stream));
      }
    }
    clock_.wait(fds, waiting ? std::optional(clock_.now() + kRetryEvery) : std::nullopt);
    if (fds[0].revents != 0 && !obey()) return;
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
}

}  // namespace dlock
