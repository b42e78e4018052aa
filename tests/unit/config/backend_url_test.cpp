// SPDX-License-Identifier: Apache-2.0
#include "lib/config/backend_url.h"

#include <doctest/doctest.h>

#include <string>

namespace backend_url_test {

using namespace dlock;

TEST_CASE("every scheme is read, and shown in its canonical form") {
  struct Row {
    const char* text;
    const char* family;
    const char* shown;
  };
  const Row rows[] = {
      {"local:/var/lock/x", "local", "local:/var/lock/x"},
      {"local:///var/lock/x", "local", "local:/var/lock/x"},
      {"local:/a%20b?allow-network-fs=1", "local", "local:/a%20b?allow-network-fs=1"},
      {"local:/x?allow_network_fs", "local", "local:/x?allow-network-fs=1"},
      {"redis://h", "redis", "redis://h"},
      {"redis://H:6379/", "redis", "redis://h"},
      {"redis://h:6380/3", "redis", "redis://h:6380/3"},
      {"redis://app:pw@10.0.3.7/0", "redis", "redis://app:***@10.0.3.7/0"},
      {"redis://:pw@h", "redis", "redis://:***@h"},
      {"redis://u@h", "redis", "redis://u@h"},
      {"redis://[::1]:7000/1", "redis", "redis://[::1]:7000/1"},
      {"redis://h?layout=redisson&kind=fair", "redis", "redis://h?kind=fair&layout=redisson"},
      {"redis://h?wait_replicas=all", "redis", "redis://h?wait_replicas=all"},
      {"redis://h?wait-replicas=2", "redis", "redis://h?wait_replicas=2"},
      {"rediss://h?ca-file=/etc/ca.pem", "redis", "rediss://h?ca-file=/etc/ca.pem"},
      {"redis+unix:///run/redis.sock?db=2", "redis", "redis+unix:///run/redis.sock?db=2"},
      {"redis+unix://:pw@/run/redis.sock", "redis", "redis+unix://:***@/run/redis.sock"},
      {"redis+sentinel://h1,h2:26380,h3/mymaster/1", "redis", "redis+sentinel://h1,h2:26380,h3/mymaster/1"},
      {"rediss+sentinel://h1/m?sentinel-user=s", "redis", "rediss+sentinel://h1/m?sentinel-user=s"},
      {"redis+cluster://h1,h2", "redis", "redis+cluster://h1,h2"},
      {"rediss+cluster://u:p@h1:7000,h2:7001", "redis", "rediss+cluster://u:***@h1:7000,h2:7001"},
      {"redlock://h1,h2,h3,h4,h5/2", "redis", "redlock://h1,h2,h3,h4,h5/2"},
      {"tair://h:6379/0", "redis", "tair://h/0"},
      {"zk://h1,h2,h3/locks/app?recipe=kazoo", "zookeeper", "zk://h1,h2,h3/locks/app?recipe=kazoo"},
      {"mysql://app@db:3307/prod?strategy=row&row=orders:id=42", "mysql",
       "mysql://app@db:3307/prod?row=orders:id=42&strategy=row"},
      {"mysql://app@/prod?socket=/run/mysqld/mysqld.sock", "mysql", "mysql://app@/prod?socket=/run/mysqld/mysqld.sock"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto url = BackendUrl::parse(row.text);
    if (!url) FAIL(url.error().message);
    CHECK(url->family == row.family);
    CHECK(url->redacted() == row.shown);
  }
}

TEST_CASE("the parts of a URL are decoded") {
  const auto url = BackendUrl::parse("mysql://a%40b:p%2Fw%3A@db1,[fe80::1]:3307/my%20db?socket=/run/a%26b");
  REQUIRE(url);
  CHECK(url->user == "a@b");
  CHECK(url->password == "p/w:");
  REQUIRE(url->hosts.size() == 2);
  CHECK(url->hosts[0] == BackendUrl::Host{"db1", 0});
  CHECK(url->hosts[1] == BackendUrl::Host{"fe80::1", 3307});
  CHECK(url->path == "/my db");
  CHECK(url->params.at("socket") == "/run/a&b");
}

TEST_CASE("a malformed URL is refused with the right form") {
  struct Row {
    const char* text;
    ErrorCode code;
    const char* says;
  };
  const Row rows[] = {
      {"", ErrorCode::kInvalid, "empty"},
      {"redis", ErrorCode::kInvalid, "no scheme"},
      {"h/1", ErrorCode::kInvalid, "not a backend URL: it has no scheme"},
      {"u@h:1", ErrorCode::kInvalid, "not a backend URL"},
      {"rediz://h", ErrorCode::kInvalid, "'rediz' is not a backend"},
      {"http://h", ErrorCode::kInvalid, "'http' is not a backend"},
      {"redis:h", ErrorCode::kInvalid, "'//' is missing"},
      {"redis:/h", ErrorCode::kInvalid, "'//' is missing"},
      {"redis://", ErrorCode::kInvalid, "host is missing"},
      {"redis:///0", ErrorCode::kInvalid, "host is missing"},
      {"redis://h:0", ErrorCode::kInvalid, "1 to 65535"},
      {"redis://h:65536", ErrorCode::kInvalid, "1 to 65535"},
      {"redis://h:", ErrorCode::kInvalid, "1 to 65535"},
      {"redis://h:12x", ErrorCode::kInvalid, "1 to 65535"},
      {"redis://h:-1", ErrorCode::kInvalid, "1 to 65535"},
      {"redis://h1,h2/0", ErrorCode::kInvalid, "names one host"},
      {"redis://h/x", ErrorCode::kInvalid, "database is a number"},
      {"redis://h/1/2", ErrorCode::kInvalid, "database is a number"},
      {"redis://h h", ErrorCode::kInvalid, "letters, digits"},
      {"redis://[::1", ErrorCode::kInvalid, "not closed"},
      {"redis://[::g]", ErrorCode::kInvalid, "not an IPv6"},
      {"redis://[::1]x", ErrorCode::kInvalid, "neither a port nor a comma"},
      {"redis://::1:7000", ErrorCode::kInvalid, "an IPv6 address needs [ ]: [::1], [::1]:6379"},
      {"zk://h,fe80::1", ErrorCode::kInvalid, "an IPv6 address needs [ ]: [::1], [::1]:2181"},
      {"redis://h/%2", ErrorCode::kInvalid, "two hex digits"},
      {"redis://h/%zz", ErrorCode::kInvalid, "two hex digits"},
      {"redis://u%00@h", ErrorCode::kInvalid, "control character"},
      {"redis://h\n", ErrorCode::kInvalid, "control character"},
      {"redis+cluster://h1,,h2", ErrorCode::kInvalid, "host is empty"},
      {"redis+cluster://h1,", ErrorCode::kInvalid, "host is empty"},
      {"redlock://h1,h2,h1", ErrorCode::kInvalid, "twice"},
      {"redlock://u@h1,u@h2,u@h3", ErrorCode::kInvalid, "more than one @"},
      {"redis://u:p@ss@h", ErrorCode::kInvalid, "more than one @"},
      {"redlock://h1,u@h2", ErrorCode::kInvalid, "a comma comes before the @"},
      {"zk://h1:2181,u:p@h2", ErrorCode::kInvalid, "a comma comes before the @"},
      {"redlock://h1,h2,h1:6379", ErrorCode::kInvalid, "twice"},
      {"redis+cluster://h1/0", ErrorCode::kInvalid, "takes no database"},
      {"redis+sentinel://h1,h2", ErrorCode::kInvalid, "name of the master"},
      {"redis+sentinel://h1/m/x", ErrorCode::kInvalid, "database is a number"},
      {"redis+unix://h/run/x", ErrorCode::kInvalid, "no host"},
      {"redis+unix://", ErrorCode::kInvalid, "path of the socket"},
      {"mysql://db", ErrorCode::kInvalid, "database is missing"},
      {"mysql://db/a/b", ErrorCode::kInvalid, "has no /"},
      {"zk://h/a//b", ErrorCode::kInvalid, "empty part"},
      {"local:dir", ErrorCode::kInvalid, "absolute path"},
      {"local://dir", ErrorCode::kInvalid, "absolute path"},
      {"redis://h?layout=native&layout=native", ErrorCode::kInvalid, "twice"},
      {"redis://h?layuot=native", ErrorCode::kMisconfigured, "no parameter 'layuot'"},
      {"redis://h?layout=redison", ErrorCode::kMisconfigured, "layout cannot be 'redison'"},
      {"redis://h?kind=fair", ErrorCode::kMisconfigured, "means nothing without layout=redisson"},
      {"redis://h?ca-file=/x", ErrorCode::kMisconfigured, "no parameter 'ca-file'"},  // would look like TLS
      {"rediss://h?ca-file=x", ErrorCode::kMisconfigured, "ca-file cannot be 'x'"},
      {"redis://h?recipe=mutex", ErrorCode::kMisconfigured, "no parameter 'recipe'"},
      {"zk://h?recipe=kazo", ErrorCode::kMisconfigured, "recipe cannot be 'kazo'"},
      {"postgres://db", ErrorCode::kInvalid, "database is missing"},
      {"postgres://h/d?strategy=row", ErrorCode::kMisconfigured, "strategy cannot be 'row'"},
      {"mysql://h/d?strategy=leese", ErrorCode::kMisconfigured, "strategy cannot be 'leese'"},
      {"local:?allow-network-fs=maybe", ErrorCode::kMisconfigured, "cannot be 'maybe'"},
      {"redis://h?wait_replicas=some", ErrorCode::kMisconfigured, "wait_replicas cannot be 'some'"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto url = BackendUrl::parse(row.text);
    REQUIRE(!url);
    CAPTURE(url.error().message);
    CHECK(url.error().code == row.code);
    CHECK(url.error().message.find(row.says) != std::string::npos);
    CHECK(!url.error().next.empty());
  }
}

TEST_CASE("a second login in a URL of several hosts is refused with the form that is meant") {
  CHECK(BackendUrl::parse("redlock://u@h1,u@h2,u@h3").error().next ==
        "user and password come once, before all hosts: redlock://user:password@h1,h2,h3; in them write @ and , "
        "as %40 and %2C");
  const auto url = BackendUrl::parse("redlock://u%2C%40:p%40%2C@h1,h2,h3");
  REQUIRE(url);
  CHECK(url->user == "u,@");
  CHECK(url->password == "p@,");
  CHECK(url->hosts.size() == 3);
}

TEST_CASE("typos in a URL get the nearest right word") {
  struct Row {
    const char* text;
    const char* next;
  };
  const Row rows[] = {
      {"redis://h?ca-file=/ca.pem", "it belongs to rediss:// URLs"},
      {"redis+sentinel://h/m?cert-file=/c.pem", "it belongs to rediss+sentinel:// URLs"},
      {"redis://h?sentinel-user=u", "it belongs to redis+sentinel:// URLs"},
      {"redis://h?tls=true", "TLS is rediss://"},
      {"redis+cluster://h?ssl=1", "TLS is rediss+cluster://"},
      {"rediss://h?tls=true", "leave it out: rediss:// is TLS"},
      {"redlock://h1,h2,h3?tls=1", "TLS is rediss://"},
      {"zk://h?tls=1", "zk:// has no TLS"},
      {"mysql://h/d?tls=true", "add ca-file=/PATH"},
      {"mysql://h/d?ssl-mode=REQUIRED", "add ca-file=/PATH"},
      {"mysql://h/d?ssl_mode=REQUIRED", "add ca-file=/PATH"},
      {"mysql://h/d?ssl-ca=/ca.pem", "did you mean 'ca-file'?"},
      {"mysql://h/d?password=x", "did you mean 'password-file'?"},
      {"mariadb://h/d", "did you mean 'mysql://...'?"},
      {"zookeeper://h", "did you mean 'zk://...'?"},
      {"valkey://h", "did you mean 'redis://...'?"},
      {"postgresql://h/d", "did you mean 'postgres://...'?"},
      {"etcd://h", "dlock has no such store; the stores are local:"},
      {"consul://h", "dlock has no such store; the stores are local:"},
      {"/srv/locks", "did you mean 'local:/srv/locks'?"},
      {"redlock://h", "one server is redis://; three are redlock://h1,h2,h3"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto url = BackendUrl::parse(row.text);
    REQUIRE(!url);
    CAPTURE(url.error().next);
    CHECK(url.error().next.find(row.next) != std::string::npos);
  }
  CHECK(BackendUrl::parse("rediz://h").error().next == "did you mean 'redis://...'?");
  CHECK(BackendUrl::parse("locl:").error().next == "did you mean 'local:'?");
  CHECK(BackendUrl::parse("redis+sentinal://h/m").error().next == "did you mean 'redis+sentinel://...'?");
  CHECK(BackendUrl::parse("redis://h?layuot=native").error().next == "did you mean 'layout'?");
  CHECK(BackendUrl::parse("zk://h?recipe=kazo").error().next == "did you mean 'kazoo'?");
}

TEST_CASE("a secret never shows, neither in the canonical form nor in an error") {
  for (const char* text : {"redis://u:s3cret@h", "redis://u:s3cret@h:99999", "redis://u:s3cret/x@h", "redis://:s3cret@",
                           "rediz://u:s3cret@h", "redis://u:s3cret@h?foo=1", "u:s3cret@h", "redis://u:s3cret%@h",
                           "s3cret/x@h", "redis://u:a@s3cret:x@h,h", "mysql://u:s3cret@h"}) {
    CAPTURE(text);
    const auto url = BackendUrl::parse(text);
    const std::string said = url ? url->redacted() : url.error().message + url.error().next;
    CHECK(said.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("the canonical form of a URL without a password is read back as the same URL") {
  for (const char* text : {"local:/a%20b", "local:////srv//locks/", "local:///%2Fsrv", "local:///",
                           "redis://u@h:1/2?layout=redisson&kind=lock", "redis://[::1]:7000",
                           "mysql://u%40x@h1,h2:5/d%2Cb?strategy=row&row=a:b=c%26d"}) {
    const auto url = BackendUrl::parse(text);
    REQUIRE(url);
    const auto again = BackendUrl::parse(url->redacted());
    REQUIRE(again);
    CHECK(again->redacted() == url->redacted());
    CHECK(again->user == url->user);
    CHECK(again->hosts == url->hosts);
    CHECK(again->path == url->path);
    CHECK(again->params == url->params);
  }
}

}  // namespace backend_url_test
