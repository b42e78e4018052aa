// SPDX-License-Identifier: Apache-2.0
#include "backends/postgres/connection/errors.h"

#include <doctest/doctest.h>

namespace dlock::postgres::errors_test {
namespace {

using enum ErrorCode;

Error said(const char* state, const char* text) { return error_of({state, text, true}, "h:5432"); }

TEST_CASE("what libpq or a pooler refuses by words alone is no outage; what ends by itself is one") {
  struct Case {
    const char* state;
    const char* text;
    ErrorCode code;
    const char* next;
  };
  for (const Case& c : {
           Case{"", "SSL error: tlsv1 alert unknown ca", kDenied, "cert-file"},
           Case{"", "SSL error: sslv3 alert certificate expired", kDenied, "cert-file"},
           Case{"", "SSL error: certificate verify failed", kMisconfigured, "server-name"},
           Case{"", "private key file \"k\" has group or world access; file must have", kMisconfigured, "key-file"},
           Case{"", "could not load private key file \"k\": unsupported", kMisconfigured, "key-file"},
           Case{"", "authentication method requirement \"!password\" failed: server requested a cleartext password",
                kDenied, "ca-file=FILE"},
           Case{"", "could not initiate GSSAPI security context: No credentials were supplied", kDenied, "pg_hba.conf"},
           Case{"", "authentication method 7 not supported", kDenied, "pg_hba.conf"},
           Case{"", "session is read-only", kUnavailable, "all servers"},
           Case{"", "SSL SYSCALL error: EOF detected", kUnavailable, "running"},
           Case{"", "SSL error: unexpected eof while reading", kUnavailable, "doctor"},
           Case{"", "server closed the connection unexpectedly", kUnavailable, "running"},
           Case{"08P01", "password authentication failed", kDenied, "password-file"},
           Case{"08P01", "SASL authentication failed", kDenied, "password-file"},
           Case{"08P01", "no such user: me", kDenied, "password-file"},
           Case{"08P01", "unix socket login rejected", kDenied, "password-file"},
           Case{"08P01", "not allowed", kDenied, "password-file"},
           Case{"08P01", "no such database: nowhere", kMisconfigured, "existing database"},
           Case{"08P01", "server login has been failing, try again later", kUnavailable, "doctor"},
           Case{"08P01", "client_login_timeout (server down)", kUnavailable, "doctor"},
           Case{"08006", "no such user", kUnavailable, "doctor"},
           Case{"3F000", "no schema has been selected to create in", kMisconfigured, "search_path"},
           Case{"28P01", "password authentication failed", kDenied, "password-file"},
       }) {
    CAPTURE(c.text);
    const Error error = said(c.state, c.text);
    CHECK(error.code == c.code);
    CHECK(error.message.find("h:5432") != std::string::npos);
    CHECK(error.message.find(c.text) != std::string::npos);
    CHECK(error.next.find(c.next) != std::string::npos);
    CHECK((error.message.find("SQLSTATE") == std::string::npos) == std::string_view(c.state).empty());
    CHECK_FALSE(error.undone);
  }
  CHECK(said("25006", "cannot execute INSERT in a read-only transaction").undone);
}

TEST_CASE(
    "a server that is full or read-only has said so; one that starts or ends, or has other transactions in the way, "
    "has not") {
  for (const char* state : {"53300", "25006"}) CHECK(said(state, "").outage == Outage::kRefused);
  for (const char* state : {"", "57P01", "57P03", "08006", "40001", "55P03"})
    CHECK(said(state, "").outage == Outage::kSilent);
}

TEST_CASE("a login that a pooler has refused is tried again with the password that the file has by now") {
  CHECK(is_refused_login({"08P01", "password authentication failed", true}));
  CHECK(is_refused_login({"28P01", "password authentication failed", true}));
  CHECK_FALSE(is_refused_login({"08P01", "no such database: nowhere", true}));
  CHECK_FALSE(is_refused_login({"", "SSL error: tlsv1 alert unknown ca", true}));
}

}  // namespace
}  // namespace dlock::postgres::errors_test
