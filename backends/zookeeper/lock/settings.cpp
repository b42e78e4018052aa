// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/settings.h"

#include "lib/config/url_schemes.h"

namespace dlock::zookeeper {
namespace {

bool is_root(std::string_view path) {
  while (!path.empty()) {
    if (path.front() != '/') return false;
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(part.size());
  }
  return true;
}

Result<void> check_user(const BackendUrl& url) {
  if (!url.user.empty() && url.password.empty()) {
    return Error{ErrorCode::kMisconfigured, url.redacted() + " names a user, and there is no password for it",
                 "set DLOCK_PASSWORD, or add ?password-file=FILE"};
  }
  if (url.user.empty() && !url.password.empty()) {
    BackendUrl shown = url;
    shown.password.clear();
    return Error{
        ErrorCode::kMisconfigured,
        "there is a password (DLOCK_PASSWORD, password-file), and " + shown.redacted() + " names no user for it",
        "write zk://USER@HOST, or unset the password"};
  }
  return {};
}

}  // namespace

Result<Settings> settings_of(const BackendUrl& url) {
  Settings settings;
  settings.recipe = recipe_of(url);
  settings.store = url.redacted();
  settings.root = url.path;
  while (settings.root.ends_with('/')) settings.root.pop_back();
  if (!is_root(settings.root)) {
    return Error{ErrorCode::kMisconfigured, "the path of " + settings.store + " is not that of a node",
                 "write it as /app/locks: no empty parts, no '.' and no '..'"};
  }
  if (auto fits = check_user(url); !fits) return fits.error();
  settings.user = url.user;
  settings.password = url.password;
  settings.password_file = url.param("password-file");
  const std::uint16_t standard_port = find_url_scheme(url.scheme)->port;
  for (BackendUrl::Host host : url.hosts) {
    if (host.port == 0) host.port = standard_port;
    settings.hosts.push_back(std::move(host));
  }
  return settings;
}

}  // namespace dlock::zookeeper
