// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/runtime.h"
#include "lib/keeper/entries.h"
#include "lib/keeper/lock_driver.h"
#include "lib/keeper/orphans.h"
#include "lib/keeper/renewal_schedule.h"
#include "lib/keeper/supervisor_link.h"

namespace dlock {

/// One lock of a keeper, from acquire to the end, as keeper_loop.h promises it. Single-threaded: every wait, the lock's
/// own included, polls the link as well. keeping.cpp: the grant, and the lease while it is held. endings.cpp: the
/// ways in which it ends.
class Keeping {
 public:
  /// Who has freed the lock by force, and why, as far as that is known by then; empty: nobody.
  using WhoFreed = std::function<std::string(TimePoint until)>;

  Keeping(SupervisorLink& link, LockDriver& lock, const LockSpec& spec, WhoFreed who_freed, const Runtime& runtime,
          Processes& processes)
      : link_(link),
        lock_(lock),
        spec_(spec),
        who_freed_(std::move(who_freed)),
        clock_(runtime.clock),
        log_(runtime.log),
        processes_(processes),
        entries_(processes, runtime.clock, spec, command_),
        began_(clock_.now()),
        lease_(spec.ttl),
        schedule_(spec, TimePoint(), {}) {}

  void run();

 private:
  void trace(const std::string& step) const;
  void trace_grant(const Granted& granted) const;
  bool freshen(Granted& granted);
  void hold();
  std::optional<TimePoint> unheard_at() const;
  void take_back();
  void take_up(Guard guard);
  std::optional<TimePoint> look_at() const;
  void release(TimePoint until);
  void withdraw(TimePoint until);
  void detach(const SupervisorLink::Detach& detach);
  void stay_for_the_handle(TimePoint until);
  void watch(pid_t pid);
  void end_orphans();
  void end_command(Duration kill_after, bool ours);
  void close_streams();
  void say_untouchable(const Orphans& orphans);
  std::optional<TimePoint> act_at() const;
  void act_for_supervisor();
  void after_loss();
  void outlast_command();
  void leave_to_entries(Duration ttl);
  void release_late();
  void release_alone(bool orderly = true);
  bool is_entered();
  void outlast_entries();

  bool stay_owner(std::optional<TimePoint> limit = {});
  bool take(const Renewal& answer, TimePoint began, bool asked);
  void revoke(const RevocationRequested& wanted);
  std::string why_lost(const std::string& otherwise);
  bool lose(const std::string& why);
  void tell(const SessionEvent& event);
  void wait(const std::vector<pollfd>& others = {}, std::optional<TimePoint> until = {});
  void pause(std::vector<pollfd> fds, std::optional<TimePoint> until);
  void answer_end(const Result<void>& result);

  SupervisorLink& link_;
  LockDriver& lock_;
  const LockSpec& spec_;
  const WhoFreed who_freed_;
  Clock& clock_;
  const Log& log_;
  Processes& processes_;
  Entries entries_;
  const TimePoint began_;
  Duration lease_;  ///< how long it is after each renewal: the ttl, or what the store gave
  RenewalSchedule schedule_;
  bool holds_ = false;       ///< false for a spec that takes nothing
  bool spoken_ = true;       ///< the supervisor may have sent something; false once a wait has seen that it has not
  bool news_ = false;        ///< the store has sent something
  std::string trouble_;      ///< why the last renewal was not confirmed
  bool store_lost_ = false;  ///< the store itself said that it is not ours
  std::string ran_;          ///< how the command has ended; empty: it has not, or there is none
  bool taken_up_ = false;    ///< the supervisor has said what runs under the grant
  TimePoint kept_until_{};   ///< spec.at_least: a hold that ends without its supervisor lasts until then
  TimePoint heard_at_{};     ///< until taken_up_: when the supervisor was heard last
  bool asked_there_ = false;
  bool told_lost_ = false;
  bool said_untouchable_ = false;
  bool streams_closed_ = false;
  std::optional<WatchedCommand> command_;  ///< that runs under the lock, and must not outlive it
  std::optional<TimePoint> asked_at_;      ///< when the revocation was reported to the supervisor
};

}  // namespace dlock
