// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "lib/base/unique_fd.h"

// The library's word for a connection.
extern "C" {
struct st_mysql;
}

namespace dlock::mysql {

/// Watches what one connection of the library says and hears: the library tells whoever has asked (its callback for
/// reads) of each piece that has arrived, decrypted, before it looks at it. From the first piece on, which is the
/// server's greeting, there is a socket to break, and the server is told a proof of the password or nothing. Every call
/// of the library for this connection is made between enter() and leave() on one thread; shut_out() and socket() are
/// for any other.
class WireGuard {
 public:
  /// Before the library is used for the first time, and once.
  static void watch_library();

  /// `tls`: the library verifies the server's certificate before it begins a login (there is a ca-file), so the server
  /// may be told the password itself.
  explicit WireGuard(bool tls) : tls_(tls) {}
  WireGuard(const WireGuard&) = delete;
  WireGuard& operator=(const WireGuard&) = delete;

  /// What this thread does with the library from now on is for this connection.
  void enter();
  static void leave();

  /// The server may send `bytes` more from now on; one that sends more is disconnected.
  void allow(std::size_t bytes) { left_ = bytes, overrun_ = false; }
  bool overrun() const { return overrun_; }  ///< since the last allow()

  /// Breaks the connection: whoever waits for the server is told at once. While the name is looked up, or the server
  /// has not yet said anything, that happens at the first thing it says; the library's time-out for connecting ends the
  /// wait for that.
  void shut_out();

  /// The next piece begins another connection. On the thread that is between enter() and leave().
  void forget() { mysql_ = nullptr; }

  /// For poll; -1: no server has said anything yet. As long as this object.
  int socket() const;

  /// The library's connection, for what its Connector does not offer. Between enter() and leave() only; nullptr: there
  /// is none.
  st_mysql* connection() const { return mysql_; }

  /// What the last statement gave to LAST_INSERT_ID(), which the library's Connector does not tell. Between enter() and
  /// leave() only, while there is a connection.
  std::uint64_t number() const;

  /// The way to log in that the server has asked for in the last thing that it said, which the library has refused.
  std::string refused_login() const;

  /// Why the server has ended the session, if that is the last thing that it said: the library tells only the end.
  std::string aborted() const;

  /// For the library's callback only: what has arrived, of a connection of this thread.
  void received(st_mysql* mysql, std::string_view piece);

 private:
  void meet(st_mysql* mysql);
  void cut(st_mysql* mysql);

  const bool tls_;
  st_mysql* mysql_ = nullptr;  ///< once the server has said something
  std::size_t left_ = 0;
  bool overrun_ = false;
  std::string last_said_;  ///< the beginning of it
  mutable std::mutex mutex_;
  UniqueFd socket_;        ///< guarded; a duplicate, so that it is ours to use whatever the library closes
  bool shut_out_ = false;  ///< guarded
};

}  // namespace dlock::mysql
