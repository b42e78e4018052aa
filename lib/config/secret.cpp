// SPDX-License-Identifier: Apache-2.0
#include "lib/config/secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "lib/base/human_text.h"
#include "lib/base/system_error.h"
#include "lib/base/unique_fd.h"

namespace dlock {
namespace {

constexpr std::size_t kLongestSecret = 4096;

Error unfit(const std::string& path, const std::string& why, std::string next) {
  return {ErrorCode::kMisconfigured, "the password file " + path + " " + why, std::move(next)};
}

Result<void> check_rights(const std::string& path, const struct stat& about) {
  if ((about.st_mode & 022) != 0) {
    return unfit(path, "can be written by others (mode " + permissions_text(about.st_mode) + ")",
                 "chmod 600 " + shell_word(path));
  }
  if (about.st_uid != geteuid() && about.st_uid != 0) {
    return unfit(path, "belongs to user " + std::to_string(about.st_uid) + ", not to user " + std::to_string(geteuid()),
                 "chown it, and chmod 600 " + shell_word(path));
  }
  return {};
}

}  // namespace

Result<FilePassword> read_password_file(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat about;
  if (!file.valid() || fstat(file.get(), &about) != 0) {
    return unfit(path, "cannot be read: " + errno_text(errno),
                 "create it with the password as its only line, chmod 600");
  }
  if (!S_ISREG(about.st_mode)) return unfit(path, "is not a regular file", "name a file with the password in it");
  TRY(check_rights(path, about));
  char buffer[kLongestSecret + 1];
  std::size_t size = 0;
  while (size < sizeof buffer) {
    const ssize_t n = read(file.get(), buffer + size, sizeof buffer - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unfit(path, "cannot be read: " + errno_text(errno), "");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  std::string_view line(buffer, size);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return unfit(path, "is empty", "write the password into its first line");
  if (line.size() >= kLongestSecret) return unfit(path, "has a first line of more than 4 KiB", "is it the right file?");
  const bool control =
      std::any_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (control) return unfit(path, "has control characters in its first line", "is it the right file?");
  FilePassword password{std::string(line)};
  if ((about.st_mode & 044) != 0) {
    password.warning = "the password file " + path + " can be read by others (mode " + permissions_text(about.st_mode) +
                       "); unless something else keeps them out: chmod 600 " + shell_word(path);
  }
  return password;
}

std::optional<std::string> rotated_password(const std::string& path, const std::string& known) {
  if (path.empty()) return std::nullopt;
  auto password = read_password_file(path);
  return password && password->text != known ? std::optional(std::move(password->text)) : std::nullopt;
}

}  // namespace dlock
