// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lib/base/log.h"
#include "lib/base/result.h"

namespace dlock {

inline constexpr int kExitLost = 79;
inline constexpr int kExitOverheld = 124;  // as timeout(1) has it
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

/// THE table: what dlock itself ends with (dlock(1), EXIT STATUS). Numbers from sysexits.h where it has a name for it.
constexpr int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBusy:
      return 75;  // EX_TEMPFAIL; -E changes it, in run
    case ErrorCode::kUnavailable:
      return 69;
    case ErrorCode::kLost:
      return kExitLost;
    case ErrorCode::kOverheld:
      return kExitOverheld;
    case ErrorCode::kInvalid:
      return 64;
    case ErrorCode::kMisconfigured:
    case ErrorCode::kUnsupported:
    case ErrorCode::kConflict:
      return 78;
    case ErrorCode::kDenied:
      return 77;
    case ErrorCode::kSystem:
      return 71;
    case ErrorCode::kShort:
      return 80;
    case ErrorCode::kRepeated:  // the same request twice is one success
      return 0;
    case ErrorCode::kCancelled:  // who cancels dies of the signal that asked for it
    case ErrorCode::kInternal:
      return 70;
  }
  return 70;
}

/// Writes `error` to stderr, and returns its exit status.
inline int fail(const Log& log, const Error& error) {
  log.error(error);
  return exit_status(error.code);
}

/// The line for a shell that gives `eval "$(...)"` this status: it has that of what it evaluates, and that of nothing
/// is 0.
inline std::string status_for_eval(int status) { return "(exit " + std::to_string(status) + ")\n"; }

}  // namespace dlock
