// SPDX-License-Identifier: Apache-2.0
#include "lib/config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::string_view kBackendSection = "backend.";

Error unreadable(const std::string& path, int errnum) {
  Error error{ErrorCode::kMisconfigured, "cannot read the configuration " + path + ": " + errno_text(errnum)};
  struct stat about;
  if (errnum == EACCES && stat(path.c_str(), &about) == 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(about.st_mode & 07777));
    error.message += std::string(" (mode ") + mode + ", owner " + std::to_string(about.st_uid) + ", this is user " +
                     std::to_string(geteuid()) + ")";
  }
  error.next = errnum == ENOENT ? "check the name given with --config or in $DLOCK_CONFIG"
                                : "make it readable: chmod a+r " + path;
  return error;
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

Result<void> Config::add_file(const std::string& path, bool must_exist, std::span<const ConfigKey> keys) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return absent && !must_exist ? Result<void>() : unreadable(path, errno);
  }
  auto text = read_all(file.get(), path);
  if (!text) return text.error();
  auto settings = parse_config(*text, path, keys);
  if (!settings) return settings.error();
  files_.push_back(path);
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
