// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// A timer on which a supervisor sleeps, and which its keeper moves with each renewal that it shows (SharedDeadline):
/// so the supervisor is woken when the lease is about to end, and by no renewal. A keeper that has been stopped or
/// killed moves it no more, and it rings. CLOCK_BOOTTIME: time that the machine was suspended counts.
class SharedAlarm {
 public:
  /// The supervisor's, to ring `before` a lease ends; its descriptor is for the keeper. Nothing if there is none left.
  static std::optional<SharedAlarm> make(Duration before);
  /// The keeper's, from that descriptor. Nothing if it is something else.
  static std::optional<SharedAlarm> open(UniqueFd descriptor, Duration before);

  int fd() const { return fd_.get(); }  ///< readable when it has rung
  Duration before() const { return before_; }
  /// Rings `before` this deadline, and at no other time. False: the system did not take it.
  bool set(TimePoint deadline);
  /// True once for each time that it has rung.
  bool has_rung();

 private:
  SharedAlarm(UniqueFd fd, Duration before) : fd_(std::move(fd)), before_(before) {}

  UniqueFd fd_;
  Duration before_;
};

}  // namespace dlock
