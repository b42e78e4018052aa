// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "lib/base/runtime.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/patience.h"
#include "lib/lock/succession.h"

namespace dlock {

/// One acquisition, from the first attempt to the answer, as steps: what follows from an attempt and from a moment of
/// the wait, and what is said meanwhile. It waits for nothing; its driver does: a keeper in its thread
/// (keeper/acquisition.h), a lock of this machine in the poll loop of its caller (backends/local/lock.h).
/// Single-threaded.
///
///     attempt --> granted()                                               --> Granted
///       ^  ^  --> busy()    may it go on? yes: wait for a turn, and again; no --> Refused, with who has it,
///       |  +---------------------------------+                  or that what is there is no lock
///       +---- failed()  will it pass? yes: at attempt_at() again; no --> Refused
///
/// An outage that lasts is reported (Unreached), and its end (Reached); so is one in which the holder is unknown,
/// though the wait goes on, and that of a store which answers questions and takes no lock, which is waited for as long
/// as a first contact.
class AcquisitionSteps {
 public:
  using Answer = std::variant<Granted, Refused>;

  class Driver {
   public:
    virtual ~Driver() = default;
    /// Holders and waiters, ourselves perhaps among them. Called while we wait, and once a wait has ended.
    virtual Result<LockState> describe() = 0;
    /// Leaves the queue, and releases what an attempt has taken or may have taken, unless that ends by itself. Called
    /// also after a grant.
    virtual void withdraw() = 0;
    /// Asks these holders to end (LockAdmin::revoke).
    virtual Result<void> revoke(const LockState& shown, const std::string& by) = 0;
    virtual void tell(SessionEvent event) = 0;
  };

  /// `spec`, what `runtime` names and `driver` outlive it.
  AcquisitionSteps(const LockSpec& spec, const Runtime& runtime, Driver& driver)
      : spec_(spec),
        runtime_(runtime),
        driver_(driver),
        patience_(spec.wait),
        succession_(spec, [this](const LockState& shown, const std::string& by) { return driver_.revoke(shown, by); }) {
  }

  // After an attempt. What they return is the answer; without one there is another attempt, after a wait.

  Answer granted(Granted granted);
  /// The store has answered: not now. `foreign`: by what dlock did not write: it may be no lock, and is looked at
  /// before it is waited for.
  std::optional<Refused> busy(bool foreign = false);
  /// Of an attempt that began at `began` and was to give up at `end`.
  std::optional<Refused> failed(const Error& error, TimePoint began, TimePoint end);
  /// When to try again after failed(): 40 to 80 ms later; 125 to 250 ms in a long outage.
  TimePoint attempt_at() const;

  // During a wait: answer_who() and gives_way() whenever something has come, and at look_at() at the latest.

  /// Tells the holder, if `asked` or it is owed. False: nothing was asked for, and the store was not asked. Nor is it
  /// at the end of the wait, which reports the holder, too.
  bool answer_who(bool asked);
  /// A later one of its kind waits, or the like: the wait ends, whatever the store says. Looks at the lock once a
  /// second, if that may end the wait or a holder has to be asked to end.
  bool gives_way();
  bool is_given_up() const { return gives_way_.has_value(); }
  std::optional<TimePoint> look_at() const { return earlier(ask_at_, succession_.look_at()); }

  // The end of a wait. Each withdraws.

  Refused give_way();            ///< after gives_way()
  Refused over();                ///< the time, or the tries
  Refused refused(Error error);  ///< for good
  void withdraw();               ///< no answer is wanted any more

  /// Reports a step on stderr with -v; the same step twice in a row only once.
  void trace(std::string step);

  Patience& patience() { return patience_; }
  const Patience& patience() const { return patience_; }

 private:
  TimePoint now() const { return runtime_.clock.now(); }
  void nobody_says_who(const Error& error, TimePoint asked);
  void tell_unreached(const std::string& why);
  void tell_reached();
  std::optional<Error> no_lock();

  const LockSpec& spec_;
  const Runtime runtime_;
  Driver& driver_;
  Patience patience_;
  Succession succession_;
  std::optional<Refused> gives_way_;  ///< ends the wait, whatever the store says
  std::optional<Error> reason_;       ///< of the outage: the error of the last attempt that its end did not cut short
  bool traced_outage_ = false;
  bool told_outage_ = false;
  bool is_lock_ = false;                   ///< the foreign data was looked at
  std::optional<TimePoint> silent_since_;  ///< when the first of the latest unanswered "who" questions was asked
  std::optional<TimePoint> ask_at_;        ///< when to ask the next one
  std::string traced_;                     ///< the last step that was reported
};

}  // namespace dlock
