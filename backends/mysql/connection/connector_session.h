// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/wire_guard.h"

namespace sql {
class Connection;
class Statement;
}  // namespace sql

namespace dlock::mysql {

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

  Outcome connect();                         ///< once, before all else
  Outcome execute(const std::string& text);  ///< a statement, or a batch

 private:
  Outcome try_to_connect();
  bool ended_behind_certificate(const Outcome& outcome) const;
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
