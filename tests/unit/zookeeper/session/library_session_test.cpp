// SPDX-License-Identifier: Apache-2.0
// The client library's session against a server in this process that greets, and then never answers.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/zookeeper/session/session.h"
#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"

namespace dlock::zookeeper::library_session_test {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 20s;
constexpr std::int64_t kSession = 0x1234567;
constexpr int kCloseSession = -11;
const std::string kPassword(16, 'p');

std::int64_t number(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return size == 4 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
}

std::string bytes_of(std::int64_t value, int size) {
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i & 0xff);
  return bytes;
}

/// One connection after the other, in a thread of its own.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_.get(), 8) == 0);
    socklen_t size = sizeof address;
    REQUIRE(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    name_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~SilentServer() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  const std::string& name() const { return name_; }

  /// The sessions that connections asked for, 0 for a new one, once there are `count`; or what there is.
  std::vector<std::int64_t> sessions(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return sessions_.size() >= count; });
    return sessions_;
  }
  /// Once `count` connections have ended: the operations that were asked in them.
  std::vector<int> operations_of_ended(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return ended_ >= count; });
    CHECK(ended_ >= count);
    return operations_;
  }

 private:
  void serve() {
    while (true) {
      const UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection.valid()) return;
      serve(connection.get());
      const std::lock_guard lock(mutex_);
      ++ended_;
      changed_.notify_all();
    }
  }

  void serve(int connection) {
    for (bool greeted = false; const auto frame = read_frame(connection); greeted = true) {
      const std::lock_guard lock(mutex_);
      if (greeted) operations_.push_back(static_cast<int>(number(*frame, 4, 4)));
      else greet(connection, number(*frame, 16, 8), frame->substr(28, kPassword.size()));
      changed_.notify_all();
    }
  }

  /// As servers do, which call a session expired whose password is wrong.
  void greet(int connection, std::int64_t session, const std::string& password) {
    const bool accepted = session == 0 || password == kPassword;
    if (accepted) sessions_.push_back(session);
    const std::string greeting = bytes_of(37, 4) + bytes_of(0, 4) + bytes_of(accepted ? 8000 : 0, 4) +
                                 bytes_of(accepted ? kSession : 0, 8) + bytes_of(16, 4) + kPassword + '\0';
    (void)!send(connection, greeting.data(), greeting.size(), MSG_NOSIGNAL);
  }

  static std::optional<std::string> read_frame(int connection) {
    std::string length(4, '\0');
    if (recv(connection, length.data(), 4, MSG_WAITALL) != 4) return std::nullopt;
    std::string frame(static_cast<std::size_t>(number(length, 0, 4)), '\0');
    if (recv(connection, frame.data(), frame.size(), MSG_WAITALL) != static_cast<ssize_t>(frame.size())) return {};
    return frame;
  }

  const UniqueFd listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::int64_t> sessions_;
  std::vector<int> operations_;
  std::size_t ended_ = 0;
  std::thread thread_;
};

struct World {
  SilentServer server;
  SystemClock clock;
  std::unique_ptr<Session> session;

  void open() { session = std::move(*open_session({{server.name()}, "", 8s, std::nullopt})); }

  /// The next event of this kind.
  template <typename Kind>
  std::optional<Kind> next() {
    const TimePoint until = clock.now() + kPatience;
    while (clock.now() < until) {
      while (auto event = session->next()) {
        if (auto* found = std::get_if<Kind>(&*event)) return std::move(*found);
      }
      std::vector<pollfd> fds;
      session->add_interest(fds);
      clock.wait(fds, until);
    }
    return std::nullopt;
  }
  bool connects() {
    while (const auto changed = next<StateChanged>()) {
      if (changed->state != SessionState::kConnected) continue;
      return changed->key.id == kSession && changed->key.server == server.name() && changed->timeout == 8s;
    }
    return false;
  }
  void ask(std::uint64_t ticket) { session->ask(ticket, {.kind = Request::Kind::kExists, .path = "/a"}); }
  /// Nothing more than this comes.
  void check_lost(std::uint64_t ticket) {
    const auto answered = next<Answered>();
    REQUIRE(answered);
    CHECK(answered->ticket == ticket);
    CHECK((answered->answer.code == Code::kClosing || answered->answer.code == Code::kConnectionLoss));
  }
};

}  // namespace

TEST_CASE("A session connects by itself, and says by which server") {
  World w;
  w.open();
  CHECK(w.connects());
}

TEST_CASE("A session whose server hangs is closed within its budget; what was asked is answered as lost, once") {
  World w;
  w.open();
  REQUIRE(w.connects());
  w.ask(7);
  const TimePoint began = w.clock.now();
  w.session->close();
  CHECK(w.clock.now() - began < 4s);  // the library's own close waits for longer
  w.check_lost(7);
  CHECK_FALSE(w.session->next());
  w.ask(8);  // after the end
  w.check_lost(8);
  CHECK_FALSE(w.session->next());
  w.session.reset();
  const auto asked = w.server.operations_of_ended(1);
  CHECK(std::count(asked.begin(), asked.end(), kCloseSession) == 1);
}

TEST_CASE(
    "A session that is abandoned is not ended, and does not come back; what was asked is answered as lost, once") {
  World w;
  w.open();
  REQUIRE(w.connects());
  w.ask(7);
  w.session->abandon();
  w.check_lost(7);
  CHECK_FALSE(w.session->next());
  const auto asked = w.server.operations_of_ended(1);
  CHECK(std::count(asked.begin(), asked.end(), kCloseSession) == 0);
  CHECK(w.server.sessions(1) == std::vector<std::int64_t>{0});
}

TEST_CASE("A server that is left is connected to again with the same session; what was asked is answered as lost") {
  World w;
  w.open();
  REQUIRE(w.connects());
  w.ask(7);
  w.session->reconnect();
  w.check_lost(7);
  CHECK(w.connects());
  CHECK(w.server.sessions(2) == std::vector<std::int64_t>{0, kSession});
}

}  // namespace dlock::zookeeper::library_session_test
