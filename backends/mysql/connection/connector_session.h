// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "backends/mysql/connection/database.h"
#include "lib/base/unique_fd.h"

// The library's word for a connection.
extern "C" {
struct st_mysql;
}

namespace sql {
class Connection;
class Statement;
}  // namespace sql

namespace dlock::mysql {

/// Watches the bytes that one connection of the library receives: the library calls received() with each decrypted
/// piece before it reads it. From the first piece on, the server's greeting, this knows the socket and can break it,
/// and lets the library send only a proof of the password, never the password itself (but see Trust). One thread makes
/// all calls of the library for this connection, between enter() and leave(); other threads may call only shut_out()
/// and socket().
class WireGuard {
 public:
  /// Registers the callback. Called once, before the library is used.
  static void watch_library();

  /// Why the server may get the password itself: the library verifies its certificate before it begins a login (there
  /// is a ca-file); it is behind a file of this machine, or there is no password; it may not.
  enum class Trust { kCertificate, kOther, kNone };

  explicit WireGuard(Trust trust) : trust_(trust) {}
  WireGuard(const WireGuard&) = delete;
  WireGuard& operator=(const WireGuard&) = delete;

  /// The calls of the library that this thread makes until leave() are for this connection.
  void enter();
  static void leave();

  /// The server may send `bytes` more from now on; one that sends more is disconnected.
  void allow(std::size_t bytes) { left_ = bytes, overrun_ = false; }
  bool overrun() const { return overrun_; }  ///< since the last allow()

  /// Breaks the connection, which ends a call of the library that waits for the server. Before the server's greeting it
  /// cannot; then the connection is broken when the greeting arrives, or the library's connect time-out ends the call.
  void shut_out();

  /// The next piece will be of a new connection. Between enter() and leave() only.
  void forget() { mysql_ = nullptr; }

  /// The socket, for poll; -1 before the server's greeting. Valid as long as this object.
  int socket() const;

  /// The LAST_INSERT_ID() that the last statement has set, which the library's Connector does not return. Between
  /// enter() and leave() only, while there is a connection.
  std::uint64_t number() const;

  /// Whether the server has announced one more answer than were read. As number().
  bool has_more() const;

  /// The login method that the server's last packet has asked for, and the library has refused.
  std::string refused_login() const;

  /// Why the server has ended the session, if its last packet says so: the library says only that it has ended.
  std::string aborted() const;

  /// For the library's callback only: `piece` has arrived on the connection of this thread.
  void received(st_mysql* mysql, std::string_view piece);

 private:
  void meet(st_mysql* mysql, std::string_view greeting);
  void cut(st_mysql* mysql);

  const Trust trust_;
  st_mysql* mysql_ = nullptr;  ///< once the server has said something
  std::size_t left_ = 0;
  bool overrun_ = false;
  std::string last_said_;  ///< the beginning of it
  mutable std::mutex mutex_;
  UniqueFd socket_;        ///< guarded; a duplicate, so that it is ours to use whatever the library closes
  bool shut_out_ = false;  ///< guarded
};

/// One connection by MySQL Connector/C++ 1.1 (which connector_session.cpp includes and nothing else). Works
/// around what the library lacks or does wrong: README.md. All calls block and let no exception out; one thread makes
/// all of them, from the constructor to the destructor. Other threads use the WireGuard.
class ConnectorSession {
 public:
  /// Initializes the library. Called before the first session, on the thread that starts the others.
  static void prepare_library();

  /// `settings` and `guard` outlive it.
  ConnectorSession(const DatabaseSettings& settings, WireGuard& guard);
  /// Ends the session on the server, if there is a connection.
  ~ConnectorSession();
  ConnectorSession(const ConnectorSession&) = delete;
  ConnectorSession& operator=(const ConnectorSession&) = delete;

  AnswerOrFailure connect();                         ///< once, before all else
  AnswerOrFailure execute(const std::string& text);  ///< a statement, or a batch

 private:
  AnswerOrFailure try_to_connect();
  bool ended_behind_certificate(const AnswerOrFailure& outcome) const;
  void open();                   ///< throws what the library throws
  void begin(bool with_galera);  ///< the same
  bool is_encrypted();
  Answer run_batch(const std::string& text);  ///< throws what the library throws
  Failure too_much() const;

  const DatabaseSettings& settings_;
  WireGuard& guard_;
  std::unique_ptr<sql::Connection> connection_;
  std::unique_ptr<sql::Statement> statement_;
  bool takes_batches_ = true;
};

}  // namespace dlock::mysql
