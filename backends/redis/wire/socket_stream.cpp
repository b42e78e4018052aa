// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/socket_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>

#include "lib/base/clock.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"
#include "lib/net/lookup.h"

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

/// Readable when the socket has an answer to its connect, or when its share of the time is over.
class ConnectWatch {
 public:
  ConnectWatch() = default;
  explicit ConnectWatch(int socket, Duration share)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)), timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!epoll_.valid() || !timer_.valid()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(share);
    itimerspec spec{};
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (share - seconds).count();
    timerfd_settime(timer_.get(), 0, &spec, nullptr);
    epoll_event event{};
    event.events = EPOLLOUT;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
    event.events = EPOLLIN;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event);
  }

  bool valid() const { return epoll_.valid(); }
  int fd() const { return epoll_.get(); }
  bool is_over() const {
    std::uint64_t times = 0;
    return timer_.valid() && ::read(timer_.get(), &times, sizeof times) == sizeof times;
  }

 private:
  UniqueFd epoll_;
  UniqueFd timer_;
};

class SocketStream final : public ByteStream {
 public:
  explicit SocketStream(TimePoint until) : until_(until) {}
  SocketStream(Lookup lookup, TimePoint until) : until_(until), lookup_(std::move(lookup)) {}

  int fd() const override {
    if (lookup_) return lookup_->fd();
    return watch_.valid() ? watch_.fd() : socket_.get();
  }

  short events(bool writing) const override {
    if (connected_) return writing ? POLLIN | POLLOUT : POLLIN;
    return lookup_ || watch_.valid() ? POLLIN : POLLOUT;
  }

  Result<bool> handshake() override {
    if (connected_) return true;
    if (lookup_) return take_addresses();
    return go_on();
  }

  Result<std::size_t> write(std::string_view bytes) override {
    const ssize_t n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return nothing_or_error(errno);
    nothing_to_read_ = true;
    return static_cast<std::size_t>(n);
  }

  Result<std::size_t> read(std::span<char> into) override {
    if (std::exchange(nothing_to_read_, false)) return std::size_t{0};
    const ssize_t n = recv(socket_.get(), into.data(), into.size(), 0);
    if (n == 0) return closed_by_server();
    if (n < 0) return nothing_or_error(errno);
    nothing_to_read_ = static_cast<std::size_t>(n) < into.size();
    return static_cast<std::size_t>(n);
  }

  /// True: connected at once.
  Result<bool> try_addresses(std::deque<Address> addresses) {
    addresses_ = std::move(addresses);
    return try_next();
  }

 private:
  Result<bool> take_addresses() {
    auto addresses = lookup_->take();
    if (!addresses) return false;
    lookup_.reset();
    if (!*addresses) return std::move(*addresses).error();
    return try_addresses({(*addresses)->begin(), (*addresses)->end()});
  }

  /// Connects to the first address that does not refuse at once.
  Result<bool> try_next() {
    while (!addresses_.empty()) {
      target_ = addresses_.front();
      addresses_.pop_front();
      const int errnum = begin();
      if (errnum == 0) return connected_ = true;
      if (errnum == EINPROGRESS) {
        if (!addresses_.empty()) watch_ = ConnectWatch(socket_.get(), share());
        return false;
      }
      keep(errnum);
    }
    return first_error_.value_or(Error{ErrorCode::kUnavailable, "it has no address"});
  }

  int begin() {
    socket_ = UniqueFd(socket(target_.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_.valid()) return errno;
    const int on = 1;
    if (target_.bytes.ss_family != AF_UNIX) setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connect(socket_.get(), target_.get(), target_.size) == 0 ? 0 : errno;
  }

  /// Asks the socket how its connect went: connect(2) again says it without a poll before.
  Result<bool> go_on() {
    const int errnum = connect(socket_.get(), target_.get(), target_.size) == 0 ? 0 : errno;
    if (errnum == 0 || errnum == EISCONN) {
      watch_ = ConnectWatch();
      return connected_ = true;
    }
    const bool going = errnum == EALREADY || errnum == EINPROGRESS || errnum == EINTR;
    if (going && !watch_.is_over()) return false;
    keep(going ? ETIMEDOUT : errnum);
    watch_ = ConnectWatch();
    return try_next();
  }

  Duration share() const {
    const Duration left = until_ - SystemClock().now();
    return std::max<Duration>(left / static_cast<int>(addresses_.size() + 1), std::chrono::milliseconds(10));
  }

  /// The first refusal is the one to report: of "localhost", IPv6 is often switched off.
  void keep(int errnum) {
    if (!first_error_) first_error_ = socket_failure(errnum);
  }

  static Result<std::size_t> nothing_or_error(int errnum) {
    if (errnum == EAGAIN || errnum == EINTR) return std::size_t{0};
    return socket_failure(errnum);
  }

  TimePoint until_;
  std::optional<Lookup> lookup_;
  std::deque<Address> addresses_;  ///< that have not been tried
  Address target_;
  UniqueFd socket_;
  ConnectWatch watch_;  ///< while there are other addresses to try
  std::optional<Error> first_error_;
  bool connected_ = false;
  bool nothing_to_read_ = false;  ///< known without asking the kernel: the next read() only says so
};

Result<Address> unix_address(const std::string& path) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.size() >= sizeof un.sun_path) {
    return Error{ErrorCode::kMisconfigured,
                 "the path of a socket is at most " + std::to_string(sizeof un.sun_path - 1) + " bytes long"};
  }
  std::memcpy(un.sun_path, path.c_str(), path.size() + 1);
  Address address;
  std::memcpy(&address.bytes, &un, sizeof un);
  address.size = sizeof un;
  return address;
}

Result<std::unique_ptr<ByteStream>> begin(std::deque<Address> addresses, TimePoint until) {
  auto stream = std::make_unique<SocketStream>(until);
  TRY(stream->try_addresses(std::move(addresses)));
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace

std::string_view ProtocolProbe::question() const {
  return asked_ == Protocol::kTls ? kHello : greeted_ ? kGreeting : kPing;
}

std::optional<bool> ProtocolProbe::advance() {
  if (!ready_) {
    auto ready = stream_->handshake();
    if (!ready) return no(std::move(ready).error());
    if (!*ready) return std::nullopt;
    ready_ = true;
  }
  while (sent_ < question().size()) {
    auto n = stream_->write(question().substr(sent_));
    if (!n && asked_ != Protocol::kAgain) return no(std::move(n).error());
    if (!n) break;  // a server that turns us away says why
    if (*n == 0) return std::nullopt;
    sent_ += *n;
  }
  std::array<char, 16> bytes;
  while (heard_.size() < 2) {
    auto n = stream_->read(bytes);
    if (!n) return greeted_ || no(std::move(n).error());
    if (*n == 0) return std::nullopt;
    heard_.append(bytes.data(), *n);
  }
  if (asked_ == Protocol::kAgain) return true;
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

Error socket_failure(int errnum) {
  std::string text = errno_text(errnum);
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  if (errnum == EACCES || errnum == EPERM) return {ErrorCode::kDenied, std::move(text)};
  if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM) return {ErrorCode::kSystem, std::move(text)};
  const bool nobody = errnum == ECONNREFUSED || errnum == ENOENT;
  return {ErrorCode::kUnavailable, std::move(text), nobody ? "is the server running there?" : ""};
}

Error closed_by_server() { return {ErrorCode::kUnavailable, "the server closed the connection"}; }

Result<std::unique_ptr<ByteStream>> open_socket(const Endpoint& endpoint, TimePoint until) {
  if (!endpoint.socket.empty()) {
    TRY_ASSIGN(auto address, unix_address(endpoint.socket));
    return begin({address}, until);
  }
  const std::vector<Address> known = known_addresses(endpoint.host, endpoint.port);
  if (!known.empty()) return begin({known.begin(), known.end()}, until);
  TRY_ASSIGN(auto lookup, Lookup::start(endpoint.host, endpoint.port));
  return std::unique_ptr<ByteStream>(std::make_unique<SocketStream>(std::move(lookup), until));
}

}  // namespace dlock::redis
