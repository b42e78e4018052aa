// SPDX-License-Identifier: Apache-2.0
// The module itself: OpenSSL for the functions of tls_module.h. Nothing of the C++ library is used.
#include "backends/redis/tls/tls_module.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cerrno>

struct DlockTlsSession {
  SSL* ssl;
  int socket;   ///< -1: no handshake has begun
  int errnum;   ///< of the socket, in this call
  bool closed;  ///< the server has ended the stream, as this call has seen
  bool judges_us;
};

namespace {

int fail(DlockTlsFailure* failure, DlockTlsProblem problem, const char* reason, int errnum = 0) {
  failure->problem = problem;
  failure->errnum = errnum;
  snprintf(failure->reason, sizeof failure->reason, "%s", reason);
  ERR_clear_error();
  return -1;
}

const char* openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text != nullptr ? text : "unknown reason";
}

int fail(DlockTlsFailure* failure, DlockTlsProblem problem) { return fail(failure, problem, openssl_reason()); }

// --- the socket: OpenSSL's own would write(2), and a server that is gone would end us with SIGPIPE ---

DlockTlsSession* session_of(BIO* bio) { return static_cast<DlockTlsSession*>(BIO_get_data(bio)); }

/// Result of a system call, as a BIO says it.
int moved(BIO* bio, ssize_t n, int retry) {
  BIO_clear_retry_flags(bio);
  if (n > 0) return static_cast<int>(n);
  if (n == 0) {
    session_of(bio)->closed = true;
  } else if (errno == EAGAIN || errno == EINTR) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  } else {
    session_of(bio)->errnum = errno;
  }
  return -1;
}

int bio_write(BIO* bio, const char* bytes, int size) {
  return moved(bio, send(session_of(bio)->socket, bytes, static_cast<size_t>(size), MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

int bio_read(BIO* bio, char* into, int size) {
  return moved(bio, recv(session_of(bio)->socket, into, static_cast<size_t>(size), 0), BIO_FLAGS_READ);
}

long bio_ctrl(BIO* /*bio*/, int command, long /*number*/, void* /*data*/) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_method() {
  static BIO_METHOD* method = nullptr;
  if (method != nullptr) return method;
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "dlock");
  if (method == nullptr) return nullptr;
  BIO_meth_set_write(method, bio_write);
  BIO_meth_set_read(method, bio_read);
  BIO_meth_set_ctrl(method, bio_ctrl);
  return method;
}

bool attach(DlockTlsSession* session) {
  BIO_METHOD* method = socket_method();
  BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return false;
  BIO_set_data(bio, session);
  BIO_set_init(bio, 1);
  SSL_set_bio(session->ssl, bio, bio);
  SSL_set_connect_state(session->ssl);
  return true;
}

// --- what a session is made of ---

/// Called when the server asks for a certificate.
int note_question(SSL* /*ssl*/, void* session) {
  static_cast<DlockTlsSession*>(session)->judges_us = true;
  return 1;
}

/// A key that is locked with a pass phrase is refused, rather than asking whoever sits at the terminal.
int no_pass_phrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

int load_files(SSL_CTX* context, const DlockTlsSettings& settings, DlockTlsFailure* failure) {
  if (*settings.ca_file == 0) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return fail(failure, kDlockTlsSetUp);
  } else if (SSL_CTX_load_verify_locations(context, settings.ca_file, nullptr) != 1) {
    return fail(failure, kDlockTlsCaFile);
  }
  if (*settings.cert_file == 0) return 0;
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert_file) != 1) return fail(failure, kDlockTlsCertFile);
  if (SSL_CTX_use_PrivateKey_file(context, settings.key_file, SSL_FILETYPE_PEM) != 1)
    return fail(failure, kDlockTlsKeyFile);
  return 0;
}

bool is_ip(const char* host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/// Whose certificate it has to be.
bool expect_name(SSL* ssl, const char* name) {
  if (is_ip(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

/// Of a session without an SSL.
int make_ssl(DlockTlsSession* session, SSL_CTX* context, const DlockTlsSettings& settings, DlockTlsFailure* failure) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
  if (load_files(context, settings, failure) != 0) return -1;
  session->ssl = SSL_new(context);
  if (session->ssl == nullptr) return fail(failure, kDlockTlsSetUp);
  if (!expect_name(session->ssl, settings.name)) return fail(failure, kDlockTlsName);
  SSL_set_cert_cb(session->ssl, note_question, session);
  return attach(session) ? 0 : fail(failure, kDlockTlsSetUp);
}

// --- why it ended ---

int refused_certificate(SSL* ssl, DlockTlsFailure* failure) {
  const long verdict = SSL_get_verify_result(ssl);
  DlockTlsProblem problem = kDlockTlsUntrusted;
  if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    problem = kDlockTlsWrongName;
  } else if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID) {
    problem = kDlockTlsOutOfDate;
  }
  return fail(failure, problem, X509_verify_cert_error_string(verdict));
}

DlockTlsProblem problem_of(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return kDlockTlsNoTls;
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return kDlockTlsOurCertificate;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return kDlockTlsRefused;
    default:
      return kDlockTlsOther;
  }
}

/// Result of a call of OpenSSL that has moved nothing: 0, to be called again, or -1.
int not_now(DlockTlsSession* session, int status, DlockTlsFailure* failure) {
  const int error = SSL_get_error(session->ssl, status);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
  if (session->errnum != 0) return fail(failure, kDlockTlsSocket, "", session->errnum);
  const unsigned long code = ERR_peek_last_error();
  if (session->closed || code == 0) return fail(failure, kDlockTlsClosed, "");
  if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) return refused_certificate(session->ssl, failure);
  return fail(failure, problem_of(ERR_GET_REASON(code)));
}

/// Of a call that has yet to be made: what an earlier one met, such as a reset, hides no alert that is still to be
/// read.
void begin(DlockTlsSession* session) {
  ERR_clear_error();
  session->errnum = 0;
  session->closed = false;
}

int cut(size_t size) { return size < INT_MAX ? static_cast<int>(size) : INT_MAX; }

// --- the table ---

void close_session(DlockTlsSession* session) {
  if (session == nullptr) return;
  SSL_free(session->ssl);
  OPENSSL_free(session);
}

DlockTlsSession* open_session(const DlockTlsSettings* settings, DlockTlsFailure* failure) {
  ERR_clear_error();
  auto* session = static_cast<DlockTlsSession*>(OPENSSL_zalloc(sizeof(DlockTlsSession)));
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  bool made = false;
  if (session == nullptr || context == nullptr) {
    fail(failure, kDlockTlsSetUp);
  } else {
    session->socket = -1;
    made = make_ssl(session, context, *settings, failure) == 0;
  }
  SSL_CTX_free(context);  // the session has a share in it
  if (made) return session;
  close_session(session);
  return nullptr;
}

int handshake(DlockTlsSession* session, int socket, DlockTlsFailure* failure) {
  begin(session);
  session->socket = socket;
  const int status = SSL_do_handshake(session->ssl);
  return status == 1 ? 1 : not_now(session, status, failure);
}

long write_session(DlockTlsSession* session, const char* bytes, size_t size, DlockTlsFailure* failure) {
  begin(session);
  const int n = SSL_write(session->ssl, bytes, cut(size));
  return n > 0 ? n : not_now(session, n, failure);
}

long read_session(DlockTlsSession* session, char* into, size_t size, DlockTlsFailure* failure) {
  begin(session);
  const int n = SSL_read(session->ssl, into, cut(size));
  return n > 0 ? n : not_now(session, n, failure);
}

int wants_write(const DlockTlsSession* session) { return SSL_want_write(session->ssl) ? 1 : 0; }

int judges_us(const DlockTlsSession* session) { return session->judges_us ? 1 : 0; }

}  // namespace

const DlockTls dlock_tls_2 = {open_session, close_session, handshake, write_session,
                              read_session, wants_write,   judges_us};
