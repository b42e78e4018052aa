// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/exclusive_only.h"

namespace dlock {

Result<void> check_exclusive_only(const LockSpec& spec, const std::string& store) {
  std::string what;
  if (spec.mode == Mode::kShared) what = "shared locks";
  if (spec.mode == Mode::kPermits) what = "permits";
  if (spec.fair) what = "fair queue (--fair)";
  if (spec.fair && spec.supersedes != Supersedes::kNothing) what = "queue for --replace and --newest";
  if (spec.lock_delay > Duration(0)) what = "lock-delay";
  if (what.empty()) return {};
  return Error{ErrorCode::kUnsupported, store + " has no " + what + ": only exclusive locks, first try first served",
               "leave the option out, or use another backend (man 7 dlock compares them)"};
}

}  // namespace dlock
