// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/session/inbox.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "lib/base/system_error.h"

namespace dlock::zookeeper {

Result<std::shared_ptr<Inbox>> Inbox::make() {
  UniqueFd ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid()) return system_error("cannot start a ZooKeeper session", errno);
  return std::make_shared<Inbox>(std::move(ready));
}

void Inbox::put(std::list<Event> one) noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_) return;
  if (events_.empty()) eventfd_write(ready_.get(), 1);
  events_.splice(events_.end(), one);
}

std::list<Event> Inbox::take() {
  const std::lock_guard lock(mutex_);
  if (eventfd_t times = 0; !events_.empty()) eventfd_read(ready_.get(), &times);
  return std::exchange(events_, {});
}

void Inbox::shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

}  // namespace dlock::zookeeper
