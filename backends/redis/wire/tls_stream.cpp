// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/tls_stream.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

#include "backends/redis/wire/protocol_probe.h"
#include "lib/base/human_text.h"
#include "lib/base/system_error.h"

namespace dlock::redis {
namespace {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};
using Context = std::unique_ptr<SSL_CTX, FreeTls>;
using Session = std::unique_ptr<SSL, FreeTls>;

/// What OpenSSL says went wrong last.
std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text != nullptr ? text : "unknown reason";
}

Error bad_file(const char* what, const std::string& path) {
  // OpenSSL does not tell a file that is not there from one that may not be read.
  const bool readable = access(path.c_str(), R_OK) == 0;
  const int errnum = readable ? 0 : errno;
  const std::string why = readable ? openssl_reason() : errno_text(errnum);
  ERR_clear_error();
  return {errnum == EACCES ? ErrorCode::kDenied : ErrorCode::kMisconfigured,
          std::string("the ") + what + " " + path + " cannot be used: " + why};
}

Error out_of_order(const char* what) {
  const std::string why = openssl_reason();
  ERR_clear_error();
  return {ErrorCode::kSystem, std::string(what) + ": " + why};
}

/// A key that is locked with a pass phrase is refused, rather than asking whoever sits at the terminal.
int no_pass_phrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

Result<void> load_authorities(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return out_of_order("the system's certificates");
    return {};
  }
  const bool loaded = SSL_CTX_load_verify_locations(context, settings.ca_file.c_str(), nullptr) == 1;
  return loaded ? Result<void>() : bad_file("ca-file", settings.ca_file);
}

Result<void> load_client_certificate(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.cert_file.empty() && settings.key_file.empty()) return {};
  if (settings.cert_file.empty() || settings.key_file.empty()) {
    return Error{ErrorCode::kMisconfigured, "a client certificate takes both cert-file and key-file",
                 settings.cert_file.empty() ? "add cert-file" : "add key-file"};
  }
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert_file.c_str()) != 1) {
    return bad_file("cert-file", settings.cert_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad_file("key-file", settings.key_file);
  }
  return {};
}

Result<Context> make_context(const TlsSettings& settings) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return out_of_order("TLS cannot be used");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_passwd_cb(context.get(), no_pass_phrase);
  if (auto loaded = load_authorities(context.get(), settings); !loaded) return std::move(loaded).error();
  if (auto loaded = load_client_certificate(context.get(), settings); !loaded) return std::move(loaded).error();
  return context;
}

bool is_ip(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

/// Whose certificate it has to be.
bool expect_name(SSL* ssl, const std::string& name) {
  if (is_ip(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> carrier, Session session, std::string name)
      : carrier_(std::move(carrier)), ssl_(std::move(session)), name_(std::move(name)) {}

  bool attach() {
    BIO* bio = BIO_new(carrier_method());
    if (bio == nullptr) return false;
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_connect_state(ssl_.get());
    return true;
  }

  int fd() const override { return carrier_->fd(); }

  short events(bool writing) const override {
    if (!carried_) return carrier_->events(false);
    if (!shaken_) return carrier_->events(SSL_want_write(ssl_.get()));
    return carrier_->events(writing || SSL_want_write(ssl_.get()));
  }

  Result<bool> handshake() override {
    if (shaken_) return true;
    if (!carried_) {
      auto ready = carrier_->handshake();
      if (!ready || !*ready) return ready;
      carried_ = true;
    }
    begin();
    const int status = SSL_do_handshake(ssl_.get());
    if (status == 1) return shaken_ = true;
    if (wants_more(status)) return false;
    return failure();
  }

  Result<std::size_t> write(std::string_view bytes) override {
    begin();
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max()));
    const int n = SSL_write(ssl_.get(), bytes.data(), size);
    if (n > 0) return static_cast<std::size_t>(n);
    if (wants_more(n)) return std::size_t{0};
    return failure();
  }

  Result<std::size_t> read(std::span<char> into) override {
    begin();
    const int size = static_cast<int>(std::min<std::size_t>(into.size(), std::numeric_limits<int>::max()));
    const int n = SSL_read(ssl_.get(), into.data(), size);
    if (n > 0) return static_cast<std::size_t>(n);
    if (wants_more(n)) return std::size_t{0};
    return failure();
  }

 private:
  void begin() {
    ERR_clear_error();
    carrier_error_.reset();
  }

  bool wants_more(int status) const {
    const int error = SSL_get_error(ssl_.get(), status);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  Error failure() {
    if (carrier_error_) return *carrier_error_;
    const unsigned long code = ERR_peek_last_error();
    const std::string why = openssl_reason();
    ERR_clear_error();
    if (code == 0) return {ErrorCode::kUnavailable, "the server closed the connection"};
    return explain(ERR_GET_REASON(code), why);
  }

  Error explain(int reason, const std::string& why) const {
    switch (reason) {
      case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return bad_certificate();
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
      case SSL_R_PACKET_LENGTH_TOO_LONG:
        return speaks_no_tls();
      case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        return {ErrorCode::kDenied, "the server refused our certificate: " + why,
                "name one that it trusts with cert-file and key-file"};
      case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return {ErrorCode::kDenied, "the server refused the TLS handshake: " + why,
                "it may want a client certificate: cert-file and key-file"};
      default:
        return {ErrorCode::kUnavailable, "TLS: " + why};
    }
  }

  Error bad_certificate() const {
    const long verdict = SSL_get_verify_result(ssl_.get());
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      return {ErrorCode::kMisconfigured, "the server's certificate is not for " + name_,
              "use a name that it is for, or set server-name"};
    }
    std::string next;
    if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
      next = "renew it on the server, or set this machine's clock";
    } else {
      next = "name the authority that signed it with ca-file";
    }
    return {ErrorCode::kMisconfigured,
            std::string("the server's certificate is refused: ") + X509_verify_cert_error_string(verdict), next};
  }

  static TlsStream& self(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  /// What the carrier gave, as a BIO says it.
  int pass_on(BIO* bio, const Result<std::size_t>& moved, bool reading) {
    BIO_clear_retry_flags(bio);
    if (!moved) {
      carrier_error_ = moved.error();
      return -1;
    }
    if (*moved > 0) return static_cast<int>(*moved);
    if (reading) {
      BIO_set_retry_read(bio);
    } else {
      BIO_set_retry_write(bio);
    }
    return -1;
  }

  static int bio_write(BIO* bio, const char* bytes, int size) {
    TlsStream& stream = self(bio);
    return stream.pass_on(bio, stream.carrier_->write({bytes, static_cast<std::size_t>(size)}), false);
  }

  static int bio_read(BIO* bio, char* into, int size) {
    TlsStream& stream = self(bio);
    return stream.pass_on(bio, stream.carrier_->read({into, static_cast<std::size_t>(size)}), true);
  }

  static long bio_ctrl(BIO* /*bio*/, int command, long /*number*/, void* /*data*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  /// OpenSSL would write(2) into the socket, and a server that is gone would end us with SIGPIPE.
  static BIO_METHOD* carrier_method() {
    static const std::unique_ptr<BIO_METHOD, FreeTls> method = [] {
      std::unique_ptr<BIO_METHOD, FreeTls> made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "dlock"));
      if (!made) return made;
      BIO_meth_set_write(made.get(), bio_write);
      BIO_meth_set_read(made.get(), bio_read);
      BIO_meth_set_ctrl(made.get(), bio_ctrl);
      return made;
    }();
    return method.get();
  }

  std::unique_ptr<ByteStream> carrier_;
  Session ssl_;
  std::string name_;
  std::optional<Error> carrier_error_;
  bool carried_ = false;
  bool shaken_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteStream>> start_tls(std::unique_ptr<ByteStream> carrier, const TlsSettings& settings,
                                              const std::string& host) {
  auto context = make_context(settings);
  if (!context) return std::move(context).error();
  Session session(SSL_new(context->get()));
  if (!session) return out_of_order("TLS cannot be used");
  const std::string name = settings.server_name.empty() ? host.substr(0, host.find('%')) : settings.server_name;
  if (!expect_name(session.get(), name)) {
    ERR_clear_error();
    return Error{ErrorCode::kMisconfigured, "'" + printable(name) + "' is no name that a certificate can be for",
                 "set server-name"};
  }
  auto stream = std::make_unique<TlsStream>(std::move(carrier), std::move(session), name);
  if (!stream->attach()) return out_of_order("TLS cannot be used");
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace dlock::redis
