// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace dlock {

/// A password that stood in a file.
struct FilePassword {
  std::string text;
  std::string warning = {};  ///< others can read the file, as they can what Docker and Kubernetes mount; empty: nothing
};

/// The first line of a file. Misconfigured (the message names the file, never what is in it) if it cannot be read, is
/// no file, is empty, longer than 4 KiB, has control characters, or if another user but root can write it.
Result<FilePassword> read_password_file(const std::string& path);

/// The password that the file has by now, to log in once more after a refusal; nullopt if it cannot be read or is
/// `known`, and for an empty `path`.
std::optional<std::string> rotated_password(const std::string& path, const std::string& known);

}  // namespace dlock
