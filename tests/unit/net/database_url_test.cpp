// SPDX-License-Identifier: Apache-2.0
#include "lib/net/database_url.h"

#include <doctest/doctest.h>

#include <map>

#include "lib/net/findings.h"
#include "lib/net/meanings.h"

namespace dlock::testing::database_url_test {
namespace {

using Verdict = Finding::Verdict;

Result<DatabaseUrl> database(const std::string& text) {
  const auto url = BackendUrl::parse(text);
  REQUIRE(url);
  return database_url(*url);
}

TEST_CASE("what every database is told in its URL") {
  const auto read = database("postgres://app:pw@h1,[::1]:6543/shop?ca-file=/dev/null&server-name=db");
  REQUIRE(read);
  CHECK(read->servers[0].text() == "h1:5432");
  CHECK(read->servers[1].text() == "[::1]:6543");
  CHECK(read->user == "app");
  CHECK(read->password == "pw");
  CHECK(read->database == "shop");
  CHECK(read->tls->server_name == "db");
  CHECK(read->store.find("pw") == std::string::npos);
  CHECK(database("mysql:///db?socket=/run/m.sock")->servers[0].text() == "/run/m.sock");
  CHECK_FALSE(database("postgres://h/db")->user.empty());
}

TEST_CASE("half of TLS, a file that cannot be read, and a socket beside a host are refused, saying why") {
  for (const auto& one : std::map<std::string, std::string>{
           {"h/db?cert-file=/dev/null", "takes both"},
           {"h/db?cert-file=/dev/null&key-file=/dev/null", "cert-file and key-file mean nothing without ca-file"},
           {"h/db?server-name=x", "server-name means nothing without ca-file"},
           {"h/db?ca-file=/nowhere/ca.crt", "cannot read /nowhere/ca.crt"},
           {"h/db?socket=/run/m.sock", "a socket and hosts"},
           {"/db?ca-file=/dev/null&socket=/run/m.sock", "means nothing with socket"}}) {
    CAPTURE(one.first);
    const auto read = database("postgres://" + one.first);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::kMisconfigured);
    CHECK(read.error().message.find(one.second) != std::string::npos);
    CHECK_FALSE(read.error().next.empty());
  }
}

TEST_CASE("a code means what the first row says that has it, or has its beginning") {
  constexpr Meaning kTable[] = {{ErrorCode::kDenied, "% says no: ", "ask", "42501 28*"},
                                {ErrorCode::kSystem, "%: ", "look", "42* 281"}};
  CHECK(find_meaning(kTable, "42501") == &kTable[0]);
  CHECK(find_meaning(kTable, "28P01") == &kTable[0]);
  CHECK(find_meaning(kTable, "42601") == &kTable[1]);
  CHECK(find_meaning(kTable, "2") == nullptr);
  CHECK(find_meaning(kTable, "") == nullptr);
  CHECK(error_of(kTable[0], "h:1", "100 %").message == "h:1 says no: 100 %");
}

TEST_CASE("of TLS, a line that broke is an outage; a refused certificate, and files that will never do, are none") {
  using enum ErrorCode;
  struct Case {
    const char* text;
    ErrorCode code;
    const char* next;
  };
  for (const Case& c : {
           Case{"SSL error: tlsv1 alert unknown ca", kDenied, "cert-file"},
           Case{"SSL error: sslv3 alert certificate expired", kDenied, "cert-file"},
           Case{"TLS/SSL error: tlsv13 alert certificate required", kDenied, "cert-file"},
           Case{"TLS/SSL error: tlsv1 alert access denied", kDenied, "cert-file"},
           Case{"SSL error: certificate verify failed", kMisconfigured, "theirs"},
           Case{"TLS/SSL error: self-signed certificate in certificate chain", kMisconfigured, "theirs"},
           Case{"server certificate for \"a\" does not match host name \"b\"", kMisconfigured, "theirs"},
           Case{"server does not support SSL, but SSL was required", kMisconfigured, "theirs"},
           Case{"the server speaks no TLS here", kMisconfigured, "theirs"},
           Case{"private key file \"reset.key\" has group or world access", kMisconfigured, "for its owner alone"},
           Case{"certificate does not match private key file \"k\": key values mismatch", kMisconfigured, "key-file"},
           Case{"could not read certificate file \"c\": no start line", kMisconfigured, "cert-file"},
           Case{"TLS/SSL error: key values mismatch", kMisconfigured, "key-file"},
           Case{"TLS/SSL error: no start line", kMisconfigured, "cert-file"},
           Case{"SSL error: wrong version number", kMisconfigured, "ca-file"},
           Case{"TLS/SSL error: unexpected eof while reading", kUnavailable, "doctor"},
           Case{"TLS/SSL error: Connection reset by peer (104)", kUnavailable, "doctor"},
           Case{"TLS/SSL error: Connection timed out", kUnavailable, "doctor"},
           Case{"SSL error: tlsv1 alert internal error", kUnavailable, "doctor"},
       }) {
    CAPTURE(c.text);
    const Error error = error_of_tls(c.text, "h:1", "said", "theirs");
    CHECK(error.code == c.code);
    CHECK(error.message.find("h:1") != std::string::npos);
    CHECK(error.message.find(": said") != std::string::npos);
    CHECK(error.next.find(c.next) != std::string::npos);
  }
}

TEST_CASE("doctor warns of a connection that can be read on the way") {
  CHECK(encryption_finding({"10.0.0.1", 3306, ""}, false).verdict == Verdict::kWarn);
  CHECK(encryption_finding({"10.0.0.1", 3306, ""}, true, "AES").what ==
        "10.0.0.1:3306: encrypted (AES), certificate checked");
  CHECK(encryption_finding({"127.0.0.1", 3306, ""}, false).verdict == Verdict::kOk);
  CHECK(encryption_finding({"", 0, "/run/m.sock"}, false).verdict == Verdict::kOk);
}

TEST_CASE("doctor: one server that takes no changes is wrong if it is alone, and so are two that take them") {
  CHECK(writes_finding("a", true, "a replica", true, "mysql").failure == ErrorCode::kUnavailable);
  CHECK(writes_finding("a", true, "a replica", false, "mysql").verdict == Verdict::kOk);
  const auto writes = writes_finding("a", false, "a replica", true, "mysql");
  CHECK(writes.verdict == Verdict::kOk);
  CHECK_FALSE(are_several_writable({writes}));
  CHECK(are_several_writable({writes, writes}));
}

}  // namespace
}  // namespace dlock::testing::database_url_test
