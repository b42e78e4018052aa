// SPDX-License-Identifier: Apache-2.0
// THE BORDER of the module libexec/dlock/dlock-tls.so: TLS 1.2 or newer, as a client, over a socket that is connected.
// OpenSSL takes longer to load than a keeper needs for all else; only a connection that speaks TLS pays for it.
//
// Caller: wire/tls_stream, which gets the table from wire/load_tls alone. The module calls nothing of the program: C
// types cross the border, no C++ object and no exception (it is compiled without them). One thread at a time calls it.
// The module is never unloaded. A session belongs to the caller from open() to close(); so do its socket, and all texts
// and buffers, which are not kept after a call. No call blocks.
#pragma once

#include <stddef.h>

extern "C" {

/// Cause of a session's end, with the data to explain it.
enum DlockTlsProblem {
  kDlockTlsSetUp,   ///< OpenSSL cannot be used: reason
  kDlockTlsCaFile,  ///< a file that cannot be used: reason
  kDlockTlsCertFile,
  kDlockTlsKeyFile,
  kDlockTlsName,            ///< no certificate can be for such a name
  kDlockTlsSocket,          ///< errnum
  kDlockTlsClosed,          ///< by the server
  kDlockTlsWrongName,       ///< the server's certificate is for others
  kDlockTlsOutOfDate,       ///< the server's certificate is not valid yet, or no longer: reason
  kDlockTlsUntrusted,       ///< the server's certificate is refused otherwise: reason
  kDlockTlsNoTls,           ///< the server does not speak TLS
  kDlockTlsOurCertificate,  ///< the server refused it: reason
  kDlockTlsRefused,         ///< the server refused the handshake: reason
  kDlockTlsOther,           ///< reason
};

struct DlockTlsFailure {
  int problem;  ///< a DlockTlsProblem
  int errnum;
  char reason[256];  ///< OpenSSL's words, null-terminated, cut
};

struct DlockTlsSettings {
  const char* ca_file;    ///< empty: the authorities that the system trusts
  const char* cert_file;  ///< the client's certificate, with key_file; both empty: none
  const char* key_file;
  const char* name;  ///< the host name or IP address that the server's certificate must be for
};

struct DlockTlsSession;

/// Export of the module, under a name that changes with this file: a module of another dlock has no such symbol.
struct DlockTls {
  /// Reads the files. Null, and `failure` filled in, if that does not work.
  DlockTlsSession* (*open)(const DlockTlsSettings* settings, DlockTlsFailure* failure);
  /// May be called with null.
  void (*close)(DlockTlsSession* session);
  /// `socket`: connected, non-blocking, the same each time. 1: done, read() and write() may be called; 0: to be called
  /// again when the socket is ready; -1: `failure`, and only close() may follow.
  int (*handshake)(DlockTlsSession* session, int socket, DlockTlsFailure* failure);
  /// How many bytes went, or came; 0: none now; -1: `failure`, and only close() may follow. `size` is at least 1.
  long (*write)(DlockTlsSession* session, const char* bytes, size_t size, DlockTlsFailure* failure);
  long (*read)(DlockTlsSession* session, char* into, size_t size, DlockTlsFailure* failure);
  /// Whether the last call could not go on because the socket took nothing.
  int (*wants_write)(const DlockTlsSession* session);
  /// Whether the server has asked for a certificate of ours. By TLS 1.3 it judges that only when our handshake is over.
  int (*judges_us)(const DlockTlsSession* session);
};

[[gnu::visibility("default")]] extern const DlockTls dlock_tls_2;
}

inline constexpr const char* kDlockTlsSymbol = "dlock_tls_2";
