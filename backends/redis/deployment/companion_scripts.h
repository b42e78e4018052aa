// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock::redis {

/// Of what lies beside a lock (native_names.h), whatever took it: each runs on one server.
extern const char* const kFenceScript;
extern const char* const kSweepScript;

}  // namespace dlock::redis
