// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "lib/base/runtime.h"
#include "lib/keeper/acquisition_steps.h"
#include "lib/keeper/control.h"

namespace dlock {

/// Part of a store's lock that an Acquisition needs: one attempt, and the descriptors to wait on. The calls block
/// within the times that they are given and end early when `control` wants them to. Of what the store answers within an
/// attempt they tell Patience::heard(), and never reached(): whether an outage is over the answer to the attempt says,
/// because there are stores that answer reads and refuse writes.
class Acquirer {
 public:
  /// The store has answered: not now.
  struct Busy {
    bool foreign = false;  ///< by what dlock did not write
  };
  using Attempt = std::variant<Granted, Busy, Error>;

  /// Tries once; gives up on a silent server at `until`. Unavailable: asking again may help.
  virtual Attempt attempt(TimePoint until, Control& control) = 0;

  /// After Busy: waits until another attempt is worth it, at the longest until `until` (nullopt: no limit), by
  /// Acquisition::wait_on(). Where tries are counted (!Patience::queues()) it is a pause out of every queue. False:
  /// `until` has come, and another attempt would say nothing new.
  virtual bool wait(std::optional<TimePoint> until, Control& control) = 0;

  /// As AcquisitionSteps::Driver.
  virtual Result<LockState> describe(Control& control) = 0;
  virtual void withdraw() = 0;

 protected:
  ~Acquirer() = default;
};

/// The acquisition of a keeper, whose thread waits. Whenever control wants an end: withdraw(), and no answer.
/// Single-threaded.
class Acquisition final : private AcquisitionSteps::Driver {
 public:
  /// `spec`, what `runtime` names and `acquirer` outlive it.
  Acquisition(const LockSpec& spec, const Runtime& runtime, Acquirer& acquirer)
      : clock_(runtime.clock), acquirer_(acquirer), steps_(spec, runtime, *this) {}
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  /// nullopt: control wanted an end. Once.
  std::optional<AcquisitionSteps::Answer> run(Control& control);

  // For the Acquirer.

  /// Source of events for a wait, besides control.
  struct Source {
    std::function<bool()> is_ready;                       ///< reads what has come; true ends the wait
    std::function<void(std::optional<TimePoint>)> sleep;  ///< waits until something may have come, also for control
  };
  /// Waits until `source` is ready, `until` has come, or control wants an end; answers "who" until then. True: `source`
  /// was ready.
  bool wait_on(const Source& source, std::optional<TimePoint> until, Control& control);
  /// Waits until `until` or until control wants an end; answers "who" until then.
  void pause(std::optional<TimePoint> until, Control& control);

  void trace(std::string step) { steps_.trace(std::move(step)); }
  bool is_given_up() const { return steps_.is_given_up(); }
  Patience& patience() { return steps_.patience(); }
  const Patience& patience() const { return steps_.patience(); }

 private:
  std::optional<AcquisitionSteps::Answer> follow(Acquirer::Attempt attempt, TimePoint began, TimePoint end,
                                                 Control& control);
  std::optional<Refused> wait_for_turn(Control& control);

  Result<LockState> describe() override { return acquirer_.describe(*control_); }
  void withdraw() override { acquirer_.withdraw(); }
  Result<void> revoke(const LockState& shown, const std::string& by) override;
  void tell(SessionEvent event) override { control_->tell(event); }

  Clock& clock_;
  Acquirer& acquirer_;
  AcquisitionSteps steps_;
  Control* control_ = nullptr;  ///< of run()
};

}  // namespace dlock
