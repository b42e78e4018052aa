// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lib/keeper/control.h"
#include "lib/run/signal_inbox.h"

namespace dlock {

/// For work without a command, which ends in order when it is told to: HUP, INT, QUIT or TERM. ^Z stops us as ever.
class EndSignals final : public Control {
 public:
  explicit EndSignals(SignalInbox& inbox) : inbox_(inbox) {}

  void add_interest(std::vector<pollfd>& fds) const override { fds.push_back({inbox_.fd(), POLLIN, 0}); }
  bool stop_requested() override {
    while (const auto signal = inbox_.next()) {
      if (signal->number == SIGTSTP) stop_self();
      if (is_an_end(signal->number)) number_ = signal->number;
    }
    return number_ != 0;
  }
  bool take_who() override { return false; }
  void tell(const SessionEvent& /*event*/) override {}
  int number() const { return number_; }  ///< of the last one; 0: none has come

 private:
  SignalInbox& inbox_;
  int number_ = 0;
};

}  // namespace dlock
