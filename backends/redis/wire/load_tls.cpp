// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/load_tls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include <cerrno>
#include <string>

#include "lib/base/process.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock::redis {
namespace {

constexpr const char* kInstall = "install it with: apt install --reinstall dlock-redis";

/// By what dlerror(3) ends with: what errno was, but for memory.
bool lacks_means(const std::string& why) {
  return why.ends_with("failed to map segment from shared object") || why.ends_with(errno_text(ENOMEM)) ||
         why.ends_with(errno_text(EMFILE)) || why.ends_with(errno_text(ENFILE));
}

Error not_loaded(const std::string& path) {
  const char* text = dlerror();
  const std::string why = text != nullptr ? text : "no reason is known";
  const std::string message =
      "TLS cannot be used: " + (why.starts_with(path) ? why : path + " cannot be loaded: " + why);
  if (lacks_means(why)) return {ErrorCode::kSystem, message, "allow more: ulimit -v, ulimit -n"};
  return {ErrorCode::kUnsupported, message,
          "install it again with the libraries that it needs: apt install --reinstall dlock-redis"};
}

Result<const DlockTls*> load() {
  const std::string path = own_folder() + "/dlock-tls.so";
  if (getauxval(AT_SECURE) != 0) {
    return Error{
        ErrorCode::kUnsupported,
        "TLS cannot be used: a program with raised privileges (setuid, file capabilities) does not load " + path,
        "take the privileges from dlock-redis, and run dlock as the user who has the rights"};
  }
  if (const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC)); !file.valid()) {
    if (errno != ENOENT) return system_error("TLS cannot be used: cannot read " + path, errno);
    return Error{ErrorCode::kUnsupported, "TLS is not installed: there is no " + path, kInstall};
  }
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return not_loaded(path);
  if (const void* table = dlsym(module, kDlockTlsSymbol)) return static_cast<const DlockTls*>(table);
  Error stranger = not_loaded(path);
  dlclose(module);
  return stranger;
}

}  // namespace

Result<const DlockTls*> load_tls() {
  static const DlockTls* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  auto now = load();
  if (now) loaded = *now;
  return now;
}

}  // namespace dlock::redis
