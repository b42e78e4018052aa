// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/unique_fd.h"

namespace dlock {

/// open(2) for writing, with O_CLOEXEC and O_NOCTTY, of a file that a user has named; it is created. As with the
/// kernel's fs.protected_symlinks, whatever that is set to, a link in a sticky folder that others may write to (/tmp)
/// is followed only if it is ours or that of the folder's owner: else anybody chooses what we overwrite. Invalid with
/// errno set; EACCES for such a link.
UniqueFd open_named_file(const std::string& path, int flags);

}  // namespace dlock
