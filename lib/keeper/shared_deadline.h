// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// The deadline of a lease in a page of memory that a keeper and its supervisor share. The keeper shows there what each
/// renewal brought; the supervisor looks when the deadline that it knows is about to pass. So nobody is woken by a
/// renewal, and what is shown counts even when the keeper has been stopped or killed since. One writer, any readers.
class SharedDeadline {
 public:
  /// The supervisor's; its descriptor is for the keeper. Nothing if there is no memory or no descriptor left.
  static std::optional<SharedDeadline> make();
  /// The keeper's, from that descriptor. Nothing if it is something else.
  static std::optional<SharedDeadline> open(UniqueFd descriptor);

  int fd() const { return fd_.get(); }
  void show(TimePoint deadline) { page_->store(deadline.time_since_epoch().count(), std::memory_order_release); }
  /// nullopt: nothing has been shown yet.
  std::optional<TimePoint> shown() const;

 private:
  using Page = std::atomic<std::int64_t>;
  static_assert(Page::is_always_lock_free);
  struct Unmap {
    void operator()(Page* page) const;
  };
  SharedDeadline(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}
  static std::optional<SharedDeadline> map(UniqueFd fd);

  UniqueFd fd_;
  std::unique_ptr<Page, Unmap> page_;
};

}  // namespace dlock
