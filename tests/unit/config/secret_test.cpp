// SPDX-License-Identifier: Apache-2.0
#include "lib/config/secret.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "lib/base/descriptor_io.h"

namespace secret_test {

using namespace dlock;

namespace {

class SecretFile {
 public:
  SecretFile(const std::string& text, mode_t mode) {
    char name[] = "/tmp/dlock-secret-XXXXXX";
    const int fd = mkstemp(name);
    REQUIRE(fd >= 0);
    REQUIRE(write_all(fd, text));
    REQUIRE(fchmod(fd, mode) == 0);
    close(fd);
    path = name;
  }
  ~SecretFile() { unlink(path.c_str()); }
  std::string path;
};

}  // namespace

TEST_CASE("the password is the first line of its file") {
  CHECK(read_password_file(SecretFile("s3cret\n", 0600).path)->text == "s3cret");
  CHECK(read_password_file(SecretFile("s3cret", 0400).path)->text == "s3cret");
  CHECK(read_password_file(SecretFile("s3 cret\r\nmore\n", 0600).path)->text == "s3 cret");
}

TEST_CASE("what cannot hold a password is refused without being shown") {
  CHECK(!read_password_file("/nowhere/password"));
  CHECK(!read_password_file("/tmp"));
  for (const std::string& text : {std::string(), std::string("\nx"), std::string("a\x01s3cret\n"),
                                  std::string("s3cret\0x", 8), std::string(5000, 'x')}) {
    const auto password = read_password_file(SecretFile(text, 0600).path);
    REQUIRE(!password);
    CHECK(password.error().message.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("a pipe in place of a password file is refused instead of waited for") {
  char folder[] = "/tmp/dlock-fifo-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/p";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(!read_password_file(path));
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace secret_test
