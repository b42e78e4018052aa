// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"

namespace dlock {

/// One finding of `dlock doctor`.
struct Finding {
  enum class Verdict { kOk, kWarn, kFail };
  Verdict verdict = Verdict::kOk;
  std::string what;                               ///< the thing that was looked at, and the value found
  std::string remedy;                             ///< the command or setting that mends it; empty when ok
  ErrorCode failure = ErrorCode::kMisconfigured;  ///< of a kFail: decides the exit status

  static Finding ok(std::string what);
  static Finding warn(std::string what, std::string remedy);
  static Finding fail(std::string what, std::string remedy, ErrorCode failure = ErrorCode::kMisconfigured);
  static Finding fail(const Error& error);
};

/// The meaning for its locks of a server's clock that is `offset_ms` ahead of ours: a warning when it is more than a
/// second off, either way. Leases count by rates, but people read the times.
Finding clock_finding(const std::string& server, std::int64_t offset_ms);

}  // namespace dlock
