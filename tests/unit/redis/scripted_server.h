// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "tests/support/fake_clock.h"

namespace dlock::testing {

/// What one connection to a scripted server brings, by the fake clock.
struct ScriptedConnection {
  /// Comes at `at` after the test's start, but not before there have been `writes` writes.
  struct Piece {
    std::string bytes;
    Duration at{0};
    int writes = 1;
  };
  std::deque<Piece> pieces;
  bool ends = false;                            ///< after the last piece the server closes
  bool judges_us = false;                       ///< it asks for a certificate
  std::optional<Error> refused;                 ///< nobody listens
  std::optional<Duration> ready = Duration(0);  ///< when the connection stands; nullopt: never
};

/// A server that answers from a script; its streams need no socket.
class ScriptedServer {
 public:
  explicit ScriptedServer(FakeClock& clock) : clock_(clock) {
    clock_.next_happening = [this] { return next_happening(); };
  }

  redis::Connection::Dial dial() {
    return [this](const redis::ConnectionSettings&, TimePoint) -> Result<std::unique_ptr<redis::ByteStream>> {
      ++dialled;
      if (connections.empty()) return Error{ErrorCode::kUnavailable, "connection refused"};
      now_ = std::move(connections.front());
      connections.pop_front();
      writes_ = 0;
      if (now_.refused) return *now_.refused;
      return std::unique_ptr<redis::ByteStream>(std::make_unique<Stream>(*this));
    };
  }

  std::deque<ScriptedConnection> connections;
  std::vector<std::string> written;  ///< one for each write
  int dialled = 0;

 private:
  class Stream final : public redis::ByteStream {
   public:
    explicit Stream(ScriptedServer& server) : server_(server) {}
    int fd() const override { return -1; }
    short events(bool) const override { return POLLIN; }
    Result<bool> handshake() override { return server_.is_ready(); }
    Result<std::size_t> write(std::string_view bytes) override {
      server_.written.emplace_back(bytes);
      ++server_.writes_;
      return bytes.size();
    }
    Result<std::size_t> read(std::span<char> into) override { return server_.give(into); }
    bool judges_us() const override { return server_.now_.judges_us; }

   private:
    ScriptedServer& server_;
  };

  bool is_ready() const { return now_.ready && clock_.since_start() >= *now_.ready; }

  Result<std::size_t> give(std::span<char> into) {
    if (now_.pieces.empty()) {
      if (now_.ends) return Error{ErrorCode::kUnavailable, "the server closed the connection"};
      return std::size_t{0};
    }
    auto& piece = now_.pieces.front();
    if (clock_.since_start() < piece.at || writes_ < piece.writes) return std::size_t{0};
    const std::size_t size = std::min(piece.bytes.size(), into.size());
    std::copy_n(piece.bytes.begin(), size, into.begin());
    piece.bytes.erase(0, size);
    if (piece.bytes.empty()) now_.pieces.pop_front();
    return size;
  }

  std::optional<TimePoint> next_happening() const {
    std::optional<TimePoint> next;
    if (now_.ready && !is_ready()) next = FakeClock::start() + *now_.ready;
    if (!now_.pieces.empty() && clock_.since_start() < now_.pieces.front().at)
      next = earlier(next, FakeClock::start() + now_.pieces.front().at);
    return next;
  }

  FakeClock& clock_;
  ScriptedConnection now_;
  int writes_ = 0;
};

/// `text`, one byte every `step`.
inline std::deque<ScriptedConnection::Piece> dripped(std::string_view text, Duration step) {
  std::deque<ScriptedConnection::Piece> pieces;
  for (const char byte : text) pieces.push_back({std::string(1, byte), step * (pieces.size() + 1)});
  return pieces;
}

}  // namespace dlock::testing
