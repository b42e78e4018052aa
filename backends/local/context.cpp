// SPDX-License-Identifier: Apache-2.0
#include "backends/local/context.h"

#include <unistd.h>

#include "backends/local/files/process.h"

namespace dlock::local {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

}  // namespace

LocalContext LocalContext::of(const BackendUrl& url, const Runtime& runtime) {
  return {.runtime = runtime, .settings = settings_of(url), .host = host_name()};
}

Result<std::string> LocalContext::directory_path() const {
  if (!settings.directory.empty()) return settings.directory;
  return default_directory();
}

std::uint64_t LocalContext::own_pid_namespace() const {
  if (!known_pid_namespace) known_pid_namespace = pid_namespace();
  return *known_pid_namespace;
}

Result<const LockDir*> LocalContext::directory() {
  if (!opened_directory) {
    const auto path = directory_path();
    if (!path) return path.error();
    auto opened =
        LockDir::open(*path, {.named = !settings.directory.empty(), .allow_network_fs = settings.allow_network_fs});
    if (!opened) return opened.error();
    opened_directory = std::move(*opened);
  }
  return &*opened_directory;
}

}  // namespace dlock::local
