// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/connector_session.h"

#include <fcntl.h>
#include <mariadb/mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "lib/base/text.h"

extern "C" {
/// For plugins, which the library's own headers do not declare it for: calls `callback` after each read (mode 0; length
/// -1: it failed) and each write (mode 1) of every connection, on the thread that reads or writes.
int ma_pvio_register_callback(my_bool add, void (*callback)(int mode, MYSQL* mysql, const unsigned char* buffer,
                                                            std::size_t length));
}

namespace dlock::mysql {
namespace {

/// Ways to log in that do not reveal the password: the message proves it against a fresh salt, and cannot be turned
/// back.
#define DLOCK_PROOFS "mysql_native_password,client_ed25519,parsec"
constexpr char kProofs[] = DLOCK_PROOFS;

/// A server that is known may get the password itself. Not `dialog`: it would ask the terminal.
constexpr char kForKnown[] = DLOCK_PROOFS ",caching_sha2_password,sha256_password,mysql_clear_password";

/// A broken connection must be noticed while the server works on a statement for long, which is how waiters wait.
constexpr int kKeepaliveIdle = 15;      // s
constexpr int kKeepaliveInterval = 5;   // s
constexpr int kKeepaliveProbes = 3;     //
constexpr int kUnacknowledged = 20000;  // ms

constexpr std::size_t kHeader = 4;         ///< of a packet
constexpr std::size_t kLongestWord = 512;  ///< of what the server said last

thread_local WireGuard* guard_of_thread = nullptr;

void on_io(int mode, MYSQL* mysql, const unsigned char* buffer, std::size_t length) {
  if (mode != 0 || guard_of_thread == nullptr) return;
  const bool failed = static_cast<ssize_t>(length) < 0;
  guard_of_thread->received(mysql, {reinterpret_cast<const char*>(buffer), failed ? 0 : length});
}

/// The server waits for the client's turn before and after it asks for another way: a packet of its own, 0xfe, the
/// name, and what belongs to it. Without a name it means the oldest.
std::string login_in(std::string_view packet) {
  if (packet.size() <= kHeader + 1 || packet[kHeader] != '\xfe') return "mysql_old_password";
  packet.remove_prefix(kHeader + 1);
  return std::string(packet.substr(0, packet.find('\0')));
}

/// The login method that a greeting proposes is its last word.
std::string proposed_in(std::string_view greeting) {
  if (!greeting.ends_with('\0')) return {};
  greeting.remove_suffix(1);
  return std::string(greeting.substr(greeting.rfind('\0') + 1));
}

bool is_in(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (cut(list, ',') == name) return true;
  }
  return false;
}

void keep_alive(int fd) {
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0) return;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepaliveIdle, sizeof kKeepaliveIdle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepaliveInterval, sizeof kKeepaliveInterval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepaliveProbes, sizeof kKeepaliveProbes);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledged, sizeof kUnacknowledged);
}

/// Since 3.4 the library wants TLS unless it is set otherwise.
void stay_plain(MYSQL* mysql) {
  const my_bool no = 0;
  mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &no);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
}

}  // namespace

std::string WireGuard::refused_login() const { return login_in(last_said_); }

/// A packet of its own: 0xff, the number 1184, '#' and the SQL state, the text.
std::string WireGuard::aborted() const {
  constexpr std::string_view kAborting = "\xff\xa0\x04#";
  constexpr std::size_t kState = 5;
  std::string_view said = last_said_;
  said.remove_prefix(std::min(said.size(), kHeader));
  if (!said.starts_with(kAborting) || said.size() < kAborting.size() + kState) return {};
  return std::string(said.substr(kAborting.size() + kState));
}

std::uint64_t WireGuard::number() const { return mysql_insert_id(mysql_); }

bool WireGuard::has_more() const { return mysql_more_results(mysql_) != 0; }

void WireGuard::watch_library() { ma_pvio_register_callback(1, on_io); }

void WireGuard::enter() { guard_of_thread = this; }
void WireGuard::leave() { guard_of_thread = nullptr; }

void WireGuard::received(MYSQL* mysql, std::string_view piece) {
  if (mysql_ == nullptr) meet(mysql, piece);
  if (!piece.empty()) last_said_ = piece.substr(0, kLongestWord);
  overrun_ = overrun_ || piece.size() > left_;
  left_ -= std::min(left_, piece.size());
  if (overrun_) cut(mysql);
}

/// The greeting is here, and nothing has been answered to it. To begin in the way that it proposes is what a server
/// expects whose account needs no answer at all (auth_socket); a way that is refused would be the end of the login.
void WireGuard::meet(MYSQL* mysql, std::string_view greeting) {
  mysql_ = mysql;
  const char* ways = trust_ == Trust::kNone ? kProofs : kForKnown;
  mysql_optionsv(mysql, MARIADB_OPT_RESTRICTED_AUTH, ways);
  const std::string proposed = proposed_in(greeting);
  if (is_in(ways, proposed)) mysql_optionsv(mysql, MYSQL_DEFAULT_AUTH, proposed.c_str());
  if (trust_ != Trust::kCertificate) stay_plain(mysql);
  const int fd = mysql_get_socket(mysql);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  keep_alive(fd);
  const std::lock_guard hold(mutex_);
  socket_ = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (shut_out_) shutdown(fd, SHUT_RDWR);
}

/// shutdown(2) leaves to be read what has arrived: with something else in its place nothing is.
void WireGuard::cut(MYSQL* mysql) {
  shut_out();
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nothing.valid()) dup3(nothing.get(), mysql_get_socket(mysql), O_CLOEXEC);
}

void WireGuard::shut_out() {
  const std::lock_guard hold(mutex_);
  shut_out_ = true;
  if (socket_.valid()) shutdown(socket_.get(), SHUT_RDWR);
}

int WireGuard::socket() const {
  const std::lock_guard hold(mutex_);
  return socket_.get();
}

}  // namespace dlock::mysql
