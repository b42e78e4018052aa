// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/names.h"

#include <doctest/doctest.h>

#include <set>

namespace dlock::zookeeper::names_test {

namespace {

std::string directory(const std::string& root, const std::string& key) {
  const auto found = directory_of(root, *LockName::parse(key));
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("A key is the path of its directory, as long as a path can hold it") {
  struct Row {
    const char* root;
    const char* key;
    const char* directory;
  };
  for (const Row& row : {
           Row{"", "deploy", "/deploy"},
           Row{"/app/locks", "deploy/prod", "/app/locks/deploy/prod"},
           Row{"", "a//b", "/a/%/b"},
           Row{"", "a/", "/a/%"},
           Row{"", "a/./..", "/a/%2e/%2e%2e"},
           Row{"", "zookeeper/x", "/%7a%6f%6f%6b%65%65%70%65%72/x"},
           Row{"/app", "zookeeper", "/app/zookeeper"},
           Row{"", "100%", "/100%25"},
           Row{"", "\xc3\xa9", "/\xc3\xa9"},
           Row{"", "\xf0\x9f\x94\x92x", "/%f0%9f%94%92x"},
           Row{"", "\xef\xbf\xbdy", "/%ef%bf%bdy"},
           Row{"", "a/x-lock-0000000001", "/a/x-lock-000000000%31"},
           Row{"", "a/x-lock-1/b", "/a/x-lock-1/b"},
       }) {
    CAPTURE(row.key);
    CHECK(directory(row.root, row.key) == row.directory);
    const auto back = name_of_directory(row.root, row.directory);
    REQUIRE(back);
    CHECK(back->text() == row.key);
  }
}

TEST_CASE("No two keys meet in one directory") {
  std::set<std::string> seen;
  for (const char* key : {"a/b", "a//b", "a/%/b", "a%2fb", "a%252fb", "a/b/", "a", "%", "%25", ".", "%2e", "a/."}) {
    CAPTURE(key);
    CHECK(seen.insert(directory("", key)).second);
  }
}

TEST_CASE("A key that begins with a slash is refused: its writer means the node that the key without it names") {
  const auto refused = directory_of("", *LockName::parse("/deploy"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("What dlock keeps for itself is no key's directory") {
  CHECK_FALSE(name_of_directory("", own_directory("", "fences")));
  CHECK_FALSE(name_of_directory("/app", own_directory("/app", "fences") + "/x"));
  CHECK_FALSE(name_of_directory("/app", "/other/x"));
  CHECK(one_part(*LockName::parse("a/b")) == "a%2fb");
  CHECK(one_part(*LockName::parse("a%2fb")) == "a%252fb");
}

TEST_CASE("The nodes of every family are known by their names") {
  struct Row {
    const char* name;
    Family family;
    std::int64_t number;
    bool is_ours = false;
  };
  const Row rows[] = {
      {"_c_3f2504e0-4f89-11d3-9a0c-0305e82c3301-lock-0000000007", Family::kCuratorMutex, 7},
      {"_c_3f2504e04f8911d39a0c0305e82c3301-lock-0000000008", Family::kCuratorMutex, 8},
      {"lock-0000000009", Family::kCuratorMutex, 9},
      {"_c_3f2504e0-4f89-11d3-9a0c-0305e82c3301-__READ__0000000010", Family::kCuratorRead, 10},
      {"_c_af2504e0-4f89-d10c-9a0c-0305e82c3301-__READ__0000000010", Family::kCuratorRead, 10, true},
      {"_c_3f2504e0-4f89-11d3-9a0c-0305e82c3301-__WRIT__2147483647", Family::kCuratorWrite, 2147483647},
      {"3f2504e04f8911d39a0c0305e82c3301__lock__0000000012", Family::kKazooLock, 12},
      {"3f2504e04f8911d39a0c0305e82c3301__lock__-2147483648", Family::kKazooLock, -2147483648},
      {"3f2504e04f8911d39a0c0305e82c3301__rlock__0000000013", Family::kKazooRead, 13},
      {"_c_3f2504e0-4f89-11d3-9a0c-0305e82c3301-lease-0000000014", Family::kLease, 14},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto parsed = parse_node_name(row.name);
    REQUIRE(parsed);
    CHECK(parsed->family == row.family);
    CHECK(parsed->number == row.number);
    CHECK(parsed->is_ours == row.is_ours);
  }
  for (const char* other : {"", "0", "meta", "lock-7", "leases", "locks", "-x", "0000000001", "x-17a-0000000001"}) {
    CAPTURE(other);
    CHECK_FALSE(parse_node_name(other));
  }
}

TEST_CASE("Our own nodes are of the family that they were made for, sort behind every number, and are found again") {
  const Guid guid = Guid::random();
  for (const Family family : {Family::kCuratorMutex, Family::kCuratorRead, Family::kCuratorWrite, Family::kKazooLock,
                              Family::kKazooRead, Family::kLease}) {
    const std::string name = guid.node(family) + "0000000042";
    const auto parsed = parse_node_name(name);
    REQUIRE(parsed);
    CHECK(parsed->family == family);
    CHECK(parsed->number == 42);
    CHECK(parsed->is_ours);
    CHECK(name[0] > '9');
    CHECK(guid.is_in(name));
    CHECK_FALSE(Guid::random().is_in(name));
    CHECK_FALSE(parsed->is_lease);
    const std::string lease = lease_name(name);
    const auto taken = parse_node_name(lease);
    REQUIRE(taken);
    CHECK(taken->family == family);
    CHECK(taken->number == 42);
    CHECK(taken->is_lease);
    CHECK(guid.is_in(lease));
    CHECK(lease != name);
    CHECK(lease_name(lease) == lease);
  }
  CHECK_FALSE(parse_node_name("_c_3f2504e0-4f89-41d3-1ea5-0305e82c3301-lock-0000000042")->is_lease);  // not of dlock
  CHECK(Guid("abcdef0123456789abcdef0123456789").node(Family::kCuratorMutex) ==
        "_c_abcdef01-2345-6789-abcd-ef0123456789-lock-");
}

}  // namespace dlock::zookeeper::names_test
