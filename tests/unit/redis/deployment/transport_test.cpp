// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/wire/connection.h"
#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/net/lookup.h"

namespace transport_test {

using namespace dlock;
using namespace dlock::redis;
using namespace std::chrono_literals;

namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
  void operator()(FILE* p) const { fclose(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

/// A certificate that vouches for itself, and its file.
class Certificate {
 public:
  explicit Certificate(const char* names)
      : key(EVP_EC_gen("P-256")), x509(X509_new()), path_("/tmp/dlock-test-ca-XXXXXX") {
    X509_set_version(x509.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509.get()), -7200);
    X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
    const auto* name = reinterpret_cast<const unsigned char*>("dlock test");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509.get()), "CN", MBSTRING_ASC, name, -1, -1, 0);
    X509_set_issuer_name(x509.get(), X509_get_subject_name(x509.get()));
    X509_set_pubkey(x509.get(), key.get());
    const Owned<X509_EXTENSION> san(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names));
    X509_add_ext(x509.get(), san.get(), -1);
    X509_sign(x509.get(), key.get(), EVP_sha256());
    const Owned<FILE> file(fdopen(mkstemp(path_.data()), "w"));
    PEM_write_X509(file.get(), x509.get());
  }
  ~Certificate() { unlink(path_.c_str()); }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  const std::string& path() const { return path_; }

  Owned<EVP_PKEY> key;
  Owned<X509> x509;

 private:
  std::string path_;
};

/// A socket of this machine with a thread behind it. For each connection: answers each read with the next text; closes
/// after the last. Gives up after 5 s without a client.
class Server {
 public:
  using Talk = std::vector<std::string>;

  Server(std::vector<Talk> talks, const Certificate* certificate = nullptr) {
    listener_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof in;
    bind(listener_.get(), reinterpret_cast<sockaddr*>(&in), size);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&in), &size);
    port_ = ntohs(in.sin_port);
    listen(listener_.get(), 8);
    limit(listener_.get());
    thread_ = std::thread([this, talks = std::move(talks), certificate] {
      for (const Talk& talk : talks) serve(talk, certificate);
    });
  }
  ~Server() { thread_.join(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  static void limit(int fd) {
    const timeval time{5, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }

  void serve(const Talk& talk, const Certificate* certificate) {
    const UniqueFd client(accept(listener_.get(), nullptr, nullptr));
    if (!client.valid()) return;
    limit(client.get());
    char bytes[4096];
    if (certificate == nullptr) {
      for (const std::string& text : talk) {
        if (recv(client.get(), bytes, sizeof bytes, 0) <= 0) return;
        send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
      }
      return;
    }
    const Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context.get(), certificate->x509.get());
    SSL_CTX_use_PrivateKey(context.get(), certificate->key.get());
    const Owned<SSL> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), client.get());
    if (SSL_accept(ssl.get()) != 1) return;
    for (const std::string& text : talk) {
      if (SSL_read(ssl.get(), bytes, sizeof bytes) <= 0) return;
      SSL_write(ssl.get(), text.data(), static_cast<int>(text.size()));
    }
  }

  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

Result<std::vector<Reply>> ping(const ConnectionSettings& settings) {
  SystemClock clock;
  Connection connection(settings);
  return exchange(connection, {{"PING"}}, clock, clock.now() + 5s, clock.now() + 5s, nullptr);
}

ConnectionSettings at(const std::string& host, std::uint16_t port) {
  ConnectionSettings settings;
  settings.endpoint = {host, port, ""};
  return settings;
}

std::unique_ptr<Deployment> deployment(std::uint16_t port, Clock& clock) {
  auto url = BackendUrl::parse("redis://127.0.0.1:" + std::to_string(port));
  REQUIRE(url);
  auto made = single_deployment(*url, clock, 2s);
  REQUIRE(made);
  return std::move(*made);
}

}  // namespace

TEST_CASE("numeric addresses and localhost need nobody to ask") {
  CHECK(known_addresses("127.0.0.1", 1).size() == 1);
  CHECK(known_addresses("::1", 1).size() == 1);
  CHECK(known_addresses("localhost", 1).size() == 2);
  CHECK(known_addresses("fe80::1%1", 1).size() == 1);
  CHECK(known_addresses("fe80::1%", 1).empty());
  CHECK(known_addresses("redis.example.com", 1).empty());
  CHECK(known_addresses("127.0.0.1.example", 1).empty());
}

TEST_CASE("a lookup that is dropped before its answer harms nobody") {
  auto lookup = Lookup::start("no..invalid", 1);
  CHECK(lookup);
}

TEST_CASE("a server is reached over TCP, by its number and as localhost") {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Server server({Server::Talk{"+PONG\r\n"}});
    auto replies = ping(at(host, server.port()));
    REQUIRE(replies);
    CHECK(replies->at(0).text == "PONG");
  }
}

TEST_CASE("a Unix socket that is not there is named") {
  ConnectionSettings settings;
  settings.endpoint.socket = "/nonexistent/redis.sock";
  auto replies = ping(settings);
  REQUIRE_FALSE(replies);
  CHECK(replies.error().code == ErrorCode::kUnavailable);
  CHECK(replies.error().message == "cannot reach /nonexistent/redis.sock: no such file or directory");
}

TEST_CASE("a path that is too long for a socket is misconfigured") {
  ConnectionSettings settings;
  settings.endpoint.socket = "/" + std::string(200, 'x');
  auto replies = ping(settings);
  REQUIRE_FALSE(replies);
  CHECK(replies.error().code == ErrorCode::kMisconfigured);
}

TEST_CASE("a reply of many TLS records comes whole") {
  const Certificate certificate("IP:127.0.0.1");
  const std::string long_text(200000, 'x');
  Server server({Server::Talk{"$200000\r\n" + long_text + "\r\n"}}, &certificate);
  ConnectionSettings settings = at("127.0.0.1", server.port());
  settings.tls = TlsSettings{certificate.path(), "", "", ""};
  auto replies = ping(settings);
  REQUIRE(replies);
  CHECK(replies->at(0).text == long_text);
}

/// To HELLO and CLIENT SETNAME.
constexpr const char* kGreeted = "-ERR unknown command\r\n+OK\r\n";

TEST_CASE("a server that is loading is asked again, from the refused command on") {
  Server server({Server::Talk{kGreeted, ":1\r\n-LOADING wait\r\n+THIRD\r\n", ":2\r\n+THIRD AGAIN\r\n"}});
  SystemClock clock;
  auto one = deployment(server.port(), clock);
  auto replies = one->call("k", {{"INCR", "a"}, {"INCR", "b"}, {"ECHO", "c"}}, clock.now() + 5s, nullptr);
  REQUIRE(replies);
  REQUIRE(replies->size() == 3);
  CHECK(replies->at(0).integer == 1);
  CHECK(replies->at(1).integer == 2);
  CHECK(replies->at(2).text == "THIRD AGAIN");
}

TEST_CASE("a request that was on its way is not sent twice; the next call finds a new connection") {
  const Server::Talk none{""};
  Server server({none, none, none, Server::Talk{kGreeted, "+PONG\r\n"}});  // is it TLS? a proxy?
  SystemClock clock;
  auto one = deployment(server.port(), clock);
  auto lost = one->call("k", {{"INCR", "a"}}, clock.now() + 5s, nullptr);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == ErrorCode::kUnavailable);
  CHECK(one->current("k") == nullptr);
  auto replies = one->call("k", {{"PING"}}, clock.now() + 5s, nullptr);
  REQUIRE(replies);
  CHECK(replies->at(0).text == "PONG");
  CHECK(one->current("k") != nullptr);
}

}  // namespace transport_test
