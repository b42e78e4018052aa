// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/connection/database.h"
#include "backends/mysql/connection/settings.h"
#include "lib/base/runtime.h"
#include "lib/keeper/polled_lock.h"

namespace dlock::mysql {

/// A lock of strategy=unique or occupy, for PolledLock: waiters ask again and again, because the server does not
/// announce when such a lock becomes free.
std::unique_ptr<PollableLock> row_lock(Settings settings, const Dial& dial, const LockSpec& spec,
                                       const Runtime& runtime);

}  // namespace dlock::mysql
