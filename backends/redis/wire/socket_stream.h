// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/wire/byte_stream.h"
#include "backends/redis/wire/connection.h"
#include "lib/base/result.h"
#include "lib/base/time.h"

namespace dlock::redis {

/// Asks a server over `stream`, a separate connection, whether it speaks a protocol there; a server that expects the
/// other one does not answer. Never blocks. Single-threaded.
class ProtocolProbe {
 public:
  enum class Protocol {
    kPlain,  ///< without TLS
    kTls,
    kProxy,  ///< answers PING, and closes the connection at HELLO, which every server answers
    kAgain,  ///< over a stream like the first: whether it answers anything at all
  };

  ProtocolProbe(std::unique_ptr<ByteStream> stream, Protocol asked) : stream_(std::move(stream)), asked_(asked) {}

  /// Whether the server speaks the protocol that was asked for; nullopt: not known yet. False also if it cannot be
  /// found out.
  std::optional<bool> advance();
  void add_interest(std::vector<pollfd>& fds) const;
  Protocol asked() const { return asked_; }
  /// Why it is a "no", if the stream said it; and whether that may be a verdict on us (ByteStream::judges_us).
  const std::optional<Error>& why_not() const { return why_not_; }
  bool judges_us() const { return stream_->judges_us(); }
  /// The error that a "yes" means; the caller adds the server's name.
  Error verdict() const;

 private:
  std::string_view question() const;
  bool no(Error why) {
    why_not_ = std::move(why);
    return false;
  }

  std::unique_ptr<ByteStream> stream_;
  Protocol asked_;
  bool ready_ = false;
  std::size_t sent_ = 0;
  std::string heard_ = {};
  bool greeted_ = false;  ///< the answer to HELLO is waited for
  std::optional<Error> why_not_ = {};
};

Error speaks_no_tls();  ///< the caller adds the server's name

/// Begins to connect to `endpoint` over TCP or a Unix socket. Of several addresses each one is tried in turn, for its
/// share of the time until `until`. Errors are the reason alone ("connection refused"): the caller knows the endpoint.
Result<std::unique_ptr<ByteStream>> open_socket(const Endpoint& endpoint, TimePoint until);

/// The errors of a connected socket: what errno says ("connection reset by peer"), and the end of the stream.
Error socket_failure(int errnum);
Error closed_by_server();

/// TLS 1.2 or newer over `carrier`, which it owns. The server must show a certificate for settings.server_name, or for
/// `host` if that is empty (a name, or an IP address). The files are read now, so that renewed ones count for the next
/// connection. Misconfigured or Denied for a file that cannot be used; a certificate that cannot be verified is such
/// an error of handshake().
Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> carrier, const TlsSettings& settings,
                                              const std::string& host);

}  // namespace dlock::redis
