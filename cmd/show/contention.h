// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/log.h"
#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock {

/// The error that says by whom `name` is held, once the wait is over: `waited` is how long it lasted, nullopt with -n
/// (one attempt). `state` is the last look at the lock, nullopt if there was none. Code Busy.
Error busy_error(const LockName& name, const std::optional<LockState>& state, std::optional<Duration> waited,
                 WallTime now);

/// The message of --warn-held about a busy lock that has been held for `limit` or longer: by whom, the one who has held
/// it longest; nullopt if no holder has. Code Busy.
std::optional<Error> long_hold_error(const LockState& state, Duration limit, WallTime now);

/// Fields that a message of `event` about a holder has besides its text (--log-format json): the key, and the
/// first holder.
Log::About about_holder(const char* event, const LockState& state);

/// By what progress_line() finds this process among the waiters of a lock.
struct Self {
  std::string host;
  std::int64_t pid = 0;
};
Self this_process();

/// How long we have waited, and how long we will at most (nullopt: for ever).
struct OwnWait {
  Duration so_far{0};
  std::optional<Duration> limit;
};
/// "41 s of 10 min"; in tenths where the whole is below ten seconds: "0.6 s of 1.5 s".
std::string own_wait_text(const OwnWait& wait);

/// One line, without newline: "2nd in line, 41 s of 10 min - held by ci-4 (deploy.sh) for 3 min: release 2.4", with
/// "LEAD: " in front, and the whole holder in it, if `lead` is not empty. The least important comes last: a terminal
/// may cut the line.
std::string progress_line(const LockState& state, const Self& self, const OwnWait& wait, WallTime now,
                          const std::string& lead);

}  // namespace dlock
