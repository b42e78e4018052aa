// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "cmd/options/options.h"
#include "tests/unit/cmd/argument_words.h"

namespace options_test {

using namespace dlock;

using Words = std::vector<std::string>;

/// A home folder with, perhaps, a configuration in it.
class Home {
 public:
  Home() {
    char name[] = "/tmp/dlock-home-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  explicit Home(const std::string& configuration) : Home() {
    mkdir((path + "/dlock").c_str(), 0700);
    put("/dlock/config.toml", configuration, 0600);
  }
  ~Home() {
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) unlink(file->c_str());
    rmdir((path + "/dlock").c_str());
    rmdir(path.c_str());
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode) {
    const std::string file = path + name;
    FILE* out = fopen(file.c_str(), "w");
    REQUIRE(out != nullptr);
    REQUIRE(fputs(text.c_str(), out) >= 0);
    fclose(out);
    chmod(file.c_str(), mode);
    files_.push_back(file);
    return file;
  }
  std::string path;

 private:
  std::vector<std::string> files_;
};

/// Parses in an environment of nothing but `entries`. Options point into the words, which stay as those of main() do.
inline Result<Options> parse(const Words& line, std::initializer_list<std::string> entries = {}) {
  static std::deque<ArgumentWords> all;
  ArgumentWords& words = all.emplace_back(line);
  Variables variables(entries);
  return parse_command_line(words.count(), words.argv(), variables.environment());
}

inline Options parsed(const Words& line, std::initializer_list<std::string> entries = {}) {
  auto options = parse(line, entries);
  if (!options) FAIL(options.error().message);
  return std::move(*options);
}

inline Words run(Words options) {
  options.insert(options.begin(), "run");
  options.insert(options.end(), {"k", "--", "true"});
  return options;
}

}  // namespace options_test
