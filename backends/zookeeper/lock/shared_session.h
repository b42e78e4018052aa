// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/zookeeper/session/calls.h"

namespace dlock::zookeeper {

/// A session that the locks of one process share with whoever else asks it. It ends with the last who has it.
/// Single-threaded.
class SharedSession {
 public:
  virtual ~SharedSession() = default;

  /// The present one, or another one in place of one that has ended or is_shut_out(). Errors as of Ensemble::connect().
  virtual Result<std::shared_ptr<Calls>> share(TimePoint until, Control* control) = 0;

  /// Something of ours may have been left in it: nobody gets it any more.
  virtual void retire() = 0;
};

}  // namespace dlock::zookeeper
