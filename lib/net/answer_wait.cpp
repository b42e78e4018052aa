// SPDX-License-Identifier: Apache-2.0
#include "lib/net/answer_wait.h"

namespace dlock {
namespace {

constexpr Duration kLastWait = std::chrono::milliseconds(400);

}  // namespace

bool AnswerWait::is_over() {
  if (waited_ && !stopped_ && control_ && control_->stop_requested()) {
    stopped_ = true;
    until_ = earlier(until_, clock_.now() + kLastWait);
  }
  return until_ && clock_.now() >= *until_;
}

void AnswerWait::poll(std::vector<pollfd>& fds, std::optional<TimePoint> look_at) {
  waited_ = true;
  if (control_ && !stopped_) control_->add_interest(fds);
  const auto until = earlier(until_, look_at);
  clock_.wait(fds, clock_.now() < soon_ ? earlier(until, soon_) : until);
}

}  // namespace dlock
