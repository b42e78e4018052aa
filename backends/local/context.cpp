// SPDX-License-Identifier: Apache-2.0
#include "backends/local/context.h"

#include <sys/stat.h>

#include <cerrno>

#include "backends/local/files/directory.h"
#include "backends/local/files/process.h"
#include "lib/base/human_text.h"

namespace dlock::local {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

/// The user who is not us, where we are root, and has that directory.
std::optional<unsigned> another_owner(const std::string& path) {
  struct stat st {};
  if (geteuid() != 0 || lstat(path.c_str(), &st) != 0 || st.st_uid == 0) return std::nullopt;
  return st.st_uid;
}

bool is_missing(const std::string& path) {
  struct stat st {};
  return lstat(path.c_str(), &st) != 0 && errno == ENOENT;
}

}  // namespace

Settings settings_of(const BackendUrl& url) {
  return {.store = url.redacted(),
          .directory = url.path,
          .allow_network_fs = url.param("allow-network-fs") == "1",
          .durable_stock = url.param("sync") != "normal"};
}

LocalContext LocalContext::of(const BackendUrl& url, const Runtime& runtime) {
  return {.runtime = runtime, .settings = settings_of(url), .host = host_name()};
}

Result<std::string> LocalContext::directory_path() const {
  if (!settings.directory.empty()) return settings.directory;
  return usual_directory();
}

std::uint64_t LocalContext::own_pid_namespace() const {
  if (!known_pid_namespace) known_pid_namespace = pid_namespace();
  return *known_pid_namespace;
}

Result<const LockDir*> LocalContext::directory() {
  if (!opened_directory) {
    TRY_ASSIGN(const auto path, directory_path());
    TRY_ASSIGN(auto opened, LockDir::open(path, {.named = !settings.directory.empty(),
                                                 .allow_network_fs = settings.allow_network_fs}));
    opened_directory = std::move(opened);
    if (opened_directory->made() && !settings.directory.empty()) {
      runtime.log.notice("the lock directory " + printable(path) +
                         " did not exist and was created: only programs that name the same one share its locks");
    }
  }
  return &*opened_directory;
}

Result<const LockDir*> LocalContext::existing_directory() {
  TRY_ASSIGN(const auto path, directory_path());
  if (opened_directory) return &*opened_directory;
  if (is_missing(path)) return nullptr;
  const auto owner = another_owner(path);
  if (!owner) return directory();
  TRY_ASSIGN(auto opened, LockDir::open_for_looking(path, *owner));
  opened_directory = std::move(opened);
  return &*opened_directory;
}

bool LocalContext::has_no_directory() const {
  if (!settings.directory.empty() || opened_directory) return false;
  const auto path = directory_path();
  return !path || is_missing(*path);
}

}  // namespace dlock::local
