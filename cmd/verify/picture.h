// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/verify/chronicle.h"
#include "cmd/verify/report.h"
#include "lib/history/timeline.h"

namespace dlock {

/// The history as a picture: a lane for each worker, with what was done to it, and one for the network and the server.
/// Of a broken promise only the seconds around its first breach, with the breach marked; else the whole.
Timeline picture_of(const Chronicle& chronicle, const VerifyReport& report);

}  // namespace dlock
