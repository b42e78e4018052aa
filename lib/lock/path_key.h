// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/base/result.h"
#include "lib/lock/lock_name.h"

namespace dlock {

/// The one name of the file that a key beginning with "/", "./" or "../" means, however it was spelled: without
/// symbolic links, "." and "..". A file that does not exist has its directory's one name and its own. Unchanged if the
/// directory is not there or out of reach, where nothing can be locked. Invalid if the file's one name is no key (too
/// long, not UTF-8). Asks the file system. REQUIRES: name.is_path() or name.is_relative_path().
Result<LockName> canonical_path_key(const LockName& name);

}  // namespace dlock
