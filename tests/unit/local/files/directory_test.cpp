// SPDX-License-Identifier: Apache-2.0
#include "backends/local/files/directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "lib/config/backend_url.h"

namespace dlock::directory_test {
namespace {

/// Sets or unsets a variable for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    if (value) setenv(name_, value, 1);
    else unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("root's locks lie in /var/lib/dlock, a user's in the state directory") {
  const Variable state("XDG_STATE_HOME", "/somewhere/state");
  const auto path = local::usual_directory();
  REQUIRE(path);
  CHECK(*path == (geteuid() == 0 ? "/var/lib/dlock" : "/somewhere/state/dlock"));
}

TEST_CASE("without HOME a user's directory is found in /etc/passwd") {
  const Variable state("XDG_STATE_HOME", nullptr);
  const Variable home("HOME", nullptr);
  const auto path = local::usual_directory();
  REQUIRE(path);
  CHECK(path->starts_with("/"));
  CHECK(path->ends_with("/dlock"));
}

TEST_CASE("a local store is shown with its directory, also the one that nobody named, and local:system") {
  const Variable state("XDG_STATE_HOME", "/somewhere/state");
  CHECK(BackendUrl::parse("local:")->redacted() == "local:" + *local::usual_directory());
  CHECK(BackendUrl::parse("local:?sync=normal")->redacted() == "local:" + *local::usual_directory() + "?sync=normal");
  CHECK(BackendUrl::parse("local:system")->redacted() == "local:/var/lib/dlock/system");
}

}  // namespace dlock::directory_test
