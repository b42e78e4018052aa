// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/verify/history.h"
#include "cmd/verify/report.h"
#include "lib/history/timeline.h"

namespace dlock {

/// The history as a picture (--svg): a lane for each worker, with the faults that it had, and one for the network and
/// the server. If a promise was broken, it has only the seconds around the first breach, which is marked.
Timeline picture_of(const VerifyHistory& history, const VerifyReport& report);

}  // namespace dlock
