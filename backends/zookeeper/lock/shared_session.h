// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/zookeeper/session/calls.h"

namespace dlock::zookeeper {

/// A session that the locks of one process share with other users of it. It ends when its last user lets go of it.
/// Single-threaded.
class SharedSession {
 public:
  virtual ~SharedSession() = default;

  /// The present session, or a new one if that has ended or is_shut_out(). Errors as of Ensemble::connect().
  virtual Result<std::shared_ptr<Calls>> share(TimePoint until, Control* control) = 0;

  /// Called when nodes of the caller may be left in the session: share() hands it out no more, so that it ends soon.
  virtual void retire() = 0;
};

}  // namespace dlock::zookeeper
