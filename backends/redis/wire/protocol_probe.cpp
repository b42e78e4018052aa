// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/protocol_probe.h"

#include <array>

namespace dlock::redis {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n"sv;  // inline it is nothing to a proxy
constexpr std::string_view kGreeting = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n"sv;

/// A ClientHello of TLS 1.2 with one cipher suite that everybody refuses (RFC 5246, 7.4.1.2): the answer is an alert.
constexpr std::string_view kHello =
    "\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03"
    "dlock asks: is this TLS, or not?"
    "\x00\x00\x02\x00\x00\x01\x00"sv;

/// The first byte of an answer by TLS: an alert, or a handshake; after it the 3 of every version.
bool begins_tls(std::string_view heard) { return (heard[0] == '\x15' || heard[0] == '\x16') && heard[1] == '\x03'; }

bool begins_reply(std::string_view heard) { return heard[0] == '+' || heard[0] == '-'; }

}  // namespace

std::string_view ProtocolProbe::question() const {
  return asked_ == Protocol::kTls ? kHello : greeted_ ? kGreeting : kPing;
}

std::optional<bool> ProtocolProbe::advance() {
  if (!ready_) {
    auto ready = stream_->handshake();
    if (!ready) return false;
    if (!*ready) return std::nullopt;
    ready_ = true;
  }
  while (sent_ < question().size()) {
    auto n = stream_->write(question().substr(sent_));
    if (!n) return false;
    if (*n == 0) return std::nullopt;
    sent_ += *n;
  }
  std::array<char, 16> bytes;
  while (heard_.size() < 2) {
    auto n = stream_->read(bytes);
    if (!n) return greeted_;
    if (*n == 0) return std::nullopt;
    heard_.append(bytes.data(), *n);
  }
  if (asked_ != Protocol::kProxy) return asked_ == Protocol::kPlain ? begins_reply(heard_) : begins_tls(heard_);
  if (greeted_ || heard_[0] != '+') return false;
  greeted_ = true;
  sent_ = 0;
  heard_.clear();
  return advance();
}

Error speaks_no_tls() {
  return {ErrorCode::kMisconfigured, "the server does not speak TLS on that port",
          "use redis:// instead of rediss://, or name the TLS port"};
}

Error ProtocolProbe::verdict() const {
  if (asked_ == Protocol::kPlain) return speaks_no_tls();
  if (asked_ == Protocol::kTls) {
    return {ErrorCode::kMisconfigured, "the server speaks TLS on that port",
            "use rediss:// instead of redis://, or name the port without TLS"};
  }
  return {ErrorCode::kMisconfigured, "a proxy (twemproxy) listens there, which does not pass on all that locks need",
          "name the server itself"};
}

void ProtocolProbe::add_interest(std::vector<pollfd>& fds) const {
  fds.push_back({stream_->fd(), stream_->events(ready_ && sent_ < question().size()), 0});
}

}  // namespace dlock::redis
