// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/control.h"
#include "lib/lock/lock_session.h"
#include "lib/lock/lock_spec.h"
#include "lib/lock/patience.h"
#include "lib/lock/succession.h"

namespace dlock {

/// Part of a store's lock that an Acquisition needs: one attempt, and the descriptors to wait on. The calls block
/// within the times that they are given and end early when `control` wants them to. Of what the store answers within an
/// attempt they tell Patience::heard(), and never reached(): whether an outage is over the answer to the attempt says,
/// because there are stores that answer reads and refuse writes.
class Acquirer {
 public:
  /// The store has answered: not now.
  struct Busy {
    bool foreign = false;  ///< by what dlock did not write: it may be no lock, and is looked at before it is waited for
  };
  struct Failed {
    Error error;            ///< Unavailable: the outcome is unknown, and asking again may help
    bool answered = false;  ///< a server has said it; so it has if the error is undone
  };
  using Attempt = std::variant<Granted, Busy, Failed>;

  /// Tries once; gives up on a silent server at `until`.
  virtual Attempt attempt(TimePoint until, Control& control) = 0;

  /// After Busy: waits until another attempt is worth it, at the longest until `until` (nullopt: no limit), by
  /// Acquisition::wait_on(). Where tries are counted (!Patience::queues()) it is a pause out of every queue. False:
  /// `until` has come, and another attempt would say nothing new.
  virtual bool wait(std::optional<TimePoint> until, Control& control) = 0;

  /// Holders and waiters, ourselves perhaps among them. Called while we wait, and once a wait has ended.
  virtual Result<LockState> describe(Control& control) = 0;

  /// Leaves the queue, and releases what an attempt has taken or may have taken, unless that ends by itself. Called
  /// also after a grant, if control wanted an end before it came.
  virtual void withdraw() = 0;

 protected:
  ~Acquirer() = default;
};

/// One acquisition of a keeper, from the first attempt to the answer: how often, until when, through which outages, and
/// what is said during it. Single-threaded.
///
///     attempt --> granted                                               --> Granted
///       ^  ^  --> busy --> may it go on? yes: wait for a turn, and again; no --> Refused, with who has it,
///       |  +---------------------------------+                  or that what is there is no lock
///       +---- failed, will it pass? yes: 40 to 80 ms later again (125 to 250 ms in a long outage); no --> Refused
///
/// Whenever control wants an end: withdraw(), and no answer. An outage that lasts is reported (Unreached), and its end
/// (Reached); so is one in which the holder is unknown, though the wait goes on, and that of a store which answers
/// questions and takes no lock, which is waited for as long as a first contact.
class Acquisition {
 public:
  /// `spec`, the runtime and `acquirer` outlive it.
  Acquisition(const LockSpec& spec, const Runtime& runtime, Acquirer& acquirer)
      : spec_(spec),
        runtime_(runtime),
        acquirer_(acquirer),
        patience_(spec.wait),
        succession_(spec, [this](const LockState& shown, const std::string& by) { return revoke(shown, by); }) {}

  /// nullopt: control wanted an end. Once.
  std::optional<std::variant<Granted, Refused>> run(Control& control);

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

  /// Reports a step on stderr with -v; the same step twice in a row only once.
  void trace(std::string step);

  /// A later one of its kind waits, or the like: the wait ends, whatever the store says.
  bool is_given_up() const { return gives_way_.has_value(); }

  Patience& patience() { return patience_; }
  const Patience& patience() const { return patience_; }

 private:
  bool answer_who(Control& control);
  bool gives_way(Control& control);
  Result<void> revoke(const LockState& shown, const std::string& by);
  bool releases_grant(Control& control);
  void nobody_says_who(const Error& error, TimePoint asked, Control& control);
  void pause_in_outage(Control& control);
  void tell_unreached(const std::string& why, Control& control);
  void tell_reached(Control& control);
  void withdraw();
  Refused refused(Error error);
  Refused give_way();
  Refused busy(Control& control);
  std::optional<Error> no_lock(Control& control);

  const LockSpec& spec_;
  const Runtime runtime_;
  Acquirer& acquirer_;
  Patience patience_;
  Succession succession_;
  Control* ask_ = nullptr;            ///< of run()
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
