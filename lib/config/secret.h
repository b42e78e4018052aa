// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "lib/base/result.h"

namespace dlock {

/// Who protects a file that holds a password.
enum class SecretKeeper {
  kUser,     ///< a file of the user's: refused when group or others can read it, or when it is somebody else's
  kSystemd,  ///< a file below $CREDENTIALS_DIRECTORY: systemd guards it (by an access list, which shows as group
             ///< rights)
};

/// The first line of a file. Misconfigured (the message names the file, never what is in it) if it cannot be read, is
/// no file, is empty, longer than 4 KiB, or has control characters; for kUser also if others can read it.
Result<std::string> read_password_file(const std::string& path, SecretKeeper keeper);

/// The password that a file of the user's has by now, if it can be read and is not `known`: to log in once more after
/// a refusal, because the file may have been written anew. nullopt also for an empty `path`.
std::optional<std::string> rotated_password(const std::string& path, const std::string& known);

}  // namespace dlock
