// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/path_key.h"

#include <cstdlib>
#include <memory>

namespace dlock {
namespace {

/// realpath(3); empty if something of it does not exist or is out of reach.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : std::string();
}

}  // namespace

Result<LockName> canonical_path_key(const LockName& name) {
  const std::string here = name.is_path() ? std::string() : real_path(".") + "/";
  const std::string path = here + name.text();
  std::string real = real_path(path);
  if (real.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = real_path(path.substr(0, slash + 1));
    if (folder.empty() || slash + 1 == path.size()) return LockName::parse(path);
    real = folder + (folder.ends_with('/') ? "" : "/") + path.substr(slash + 1);
  }
  auto canonical = LockName::parse(real);
  if (canonical) return canonical;
  Error error = canonical.error();
  error.message = "the file that " + path + " leads to cannot be a key: " + error.message;
  return error;
}

}  // namespace dlock
