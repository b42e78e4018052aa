// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlock {

/// Treatment of the command when the lock is lost (--on-lost).
struct OnLost {
  enum class Kind { kTerm, kKill, kSignal, kIgnore };
  Kind kind = Kind::kTerm;
  int signal = 0;  ///< with kSignal: sent to the command once, nothing else
};

}  // namespace dlock
