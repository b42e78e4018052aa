// SPDX-License-Identifier: Apache-2.0
#include "lib/config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"
#include "lib/config/backend_url.h"

namespace dlock {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::string_view kBackendSection = "backend.";

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

Error unreadable(const std::string& path, int errnum) {
  Error error{ErrorCode::kMisconfigured, "cannot read the configuration " + path + ": " + errno_text(errnum)};
  struct stat about;
  if (errnum == EACCES && stat(path.c_str(), &about) == 0) {
    error.message += " (mode " + octal(about.st_mode) + ", owner " + std::to_string(about.st_uid) + ", this is user " +
                     std::to_string(geteuid()) + ")";
  }
  error.next = errnum == ENOENT ? "check the name given with --config or in $DLOCK_CONFIG"
                                : "make it readable: chmod a+r " + path;
  return error;
}

/// The mark of a URL with a password: only what has the form of one is parsed.
bool holds_password(const Setting& setting) {
  return std::any_of(setting.values.begin(), setting.values.end(), [](const std::string& value) {
    if (value.find("://") == std::string::npos || value.find('@') == std::string::npos) return false;
    const auto url = BackendUrl::parse(value);
    return url && !url->password.empty();
  });
}

bool is_ours(const struct stat& about) { return about.st_uid == geteuid() || about.st_uid == 0; }

/// What is wrong with a file that holds a password; nullopt if nothing is.
std::optional<Error> no_secret(const std::string& path, const struct stat& about, const Origin& where) {
  const bool open_to_others = (about.st_mode & 077) != 0;
  if (is_ours(about) && !open_to_others) return std::nullopt;
  const std::string why =
      is_ours(about) ? "can be used by others (mode " + octal(about.st_mode) + ")"
                     : "belongs to user " + std::to_string(about.st_uid) + ", not to user " + std::to_string(geteuid());
  return Error{ErrorCode::kDenied, where.text() + " holds a password, and the file " + why,
               (is_ours(about) ? "chmod 600 " : "chown it, and chmod 600 ") + path +
                   "; or keep the password elsewhere: password-file, or $DLOCK_PASSWORD"};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(path, errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kLargestFile) {
      return Error{ErrorCode::kMisconfigured, "the configuration " + path + " is larger than 1 MiB"};
    }
  }
}

}  // namespace

std::string Origin::text() const {
  if (layer == Layer::kDefault) return "default";
  return layer == Layer::kEnvironment ? "$" + where : where;
}

std::string Origin::position() const {
  return layer == Layer::kFile && column > 0 ? where + ":" + std::to_string(column) : text();
}

bool Config::add(Setting setting) {
  if (find(setting.section, setting.key) != nullptr) return false;
  settings_.push_back(std::move(setting));
  return true;
}

Result<void> Config::add_file(const std::string& path, Trust trust, std::span<const ConfigKey> keys) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat about {};
  if (!file.valid() || fstat(file.get(), &about) != 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return absent && trust != Trust::kChosen ? Result<void>() : unreadable(path, errno);
  }
  if (trust == Trust::kFound && !is_ours(about)) {
    notes_.push_back({ErrorCode::kDenied,
                      "the configuration " + path + " is left out: it belongs to user " + std::to_string(about.st_uid) +
                          ", this is user " + std::to_string(geteuid()),
                      "to obey it all the same: --config " + path});
    return {};
  }
  auto text = read_all(file.get(), path);
  if (!text) return text.error();
  auto settings = parse_config(*text, path, keys);
  if (!settings) return settings.error();
  files_.push_back(path);
  const auto secret = std::find_if(settings->begin(), settings->end(), holds_password);
  if (secret != settings->end()) {
    if (auto fault = no_secret(path, about, secret->origin)) faults_.push_back(std::move(*fault));
  }
  for (Setting& setting : *settings) add(std::move(setting));
  return {};
}

const Setting* Config::find(std::string_view section, std::string_view key) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& setting) {
    return setting.key == key && setting.section == section;
  });
  return found == settings_.end() ? nullptr : &*found;
}

std::vector<std::string> Config::backend_names() const {
  std::vector<std::string> names;
  for (const Setting& setting : settings_) {
    if (!setting.section.starts_with(kBackendSection)) continue;
    std::string name = setting.section.substr(kBackendSection.size());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace dlock
