// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "backends/zookeeper/session/session.h"
#include "lib/base/unique_fd.h"

namespace dlock::zookeeper {

/// Where the threads of the client library leave the events of one session for the loop that owns it. Each callback
/// shares it, so it outlives a session that was closed before its last answer came.
class Inbox {
 public:
  /// System without a descriptor.
  static Result<std::shared_ptr<Inbox>> make();

  explicit Inbox(UniqueFd ready) : ready_(std::move(ready)) {}

  /// Appends `one`, in any thread. Allocates nothing; after shut() it is dropped.
  void put(std::list<Event> one) noexcept;

  /// All that has come since the last call, in the order of its coming. For the loop, as all below.
  std::list<Event> take();

  /// Nothing comes any more.
  void shut();

  /// Readable while take() has something.
  int fd() const { return ready_.get(); }

 private:
  const UniqueFd ready_;  ///< an eventfd
  std::mutex mutex_;      ///< of what follows; never held while the library is called
  std::list<Event> events_;
  bool shut_ = false;
};

}  // namespace dlock::zookeeper
