// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// dlock inspect --watch without a terminal, or with --json: the locks that have changed, as one block whenever some
/// have; one that is gone is reported as free. Goes on until a signal, until there is no reader, or until the store
/// fails.
int watch_as_stream(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// The same for any content: `news` is what has changed since it was last asked, maybe nothing.
int watch_news(Duration interval, const std::function<Result<std::string>()>& news, const Runtime& runtime,
               Output& out);

/// On a terminal: a screenful at a time on the alternate screen, until q, Esc or ^C (0) or another signal; gives the
/// terminal back as it was. Keys are read from `input`. Blocks INT, TERM, HUP and WINCH while it runs.
int watch_frames(Duration interval, const std::function<std::string()>& frame, const Runtime& runtime, Output& out,
                 int input = 0);

/// The dim line on top of a frame.
std::string watch_title(const std::string& store, const Runtime& runtime, const Look& look);

}  // namespace dlock
