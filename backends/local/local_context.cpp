// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_context.h"

#include "backends/local/files/process.h"

namespace dlock::local {

Result<std::string> LocalContext::directory_path() const {
  if (!named_directory.empty()) return named_directory;
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
    auto opened = LockDir::open(*path, {.named = !named_directory.empty(), .allow_network_fs = allow_network_fs});
    if (!opened) return opened.error();
    opened_directory = std::move(*opened);
  }
  return &*opened_directory;
}

}  // namespace dlock::local
