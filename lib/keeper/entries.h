// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/unique_fd.h"
#include "lib/keeper/hold_socket.h"
#include "lib/keeper/orphans.h"
#include "lib/keeper/supervisor_link.h"

namespace dlock {

/// The runs inside a hold (re-entry), counted by the keeper of the outermost one. A run inside connects to the hold's
/// socket and asks as it would ask a keeper of its own; that connection is an entry. It is sent what the supervisor is
/// sent, and keeps the hold until it has released it, or has ended and nothing of its command is left: what a keeper
/// does for its supervisor's command is done for those of the entries. The store knows of one hold. Single-threaded,
/// never blocking.
class Entries {
 public:
  /// `outer`: the command of the outermost run, once it has one.
  Entries(Processes& processes, Clock& clock, const LockSpec& spec, const std::optional<WatchedCommand>& outer)
      : processes_(processes), clock_(clock), spec_(spec), outer_(outer) {}

  /// From now on `granted` is entered by those who come to `listener`. `lease`: how long it is after each renewal.
  void open(const Granted& granted, Duration lease, UniqueFd listener);
  /// Entries that come now find that the hold is over.
  void close() { listener_.reset(); }

  /// How many there are, without those that only wait for the answer to their release.
  int inside() const;
  /// The outermost run has ended: the hold is that of the entries.
  void outer_has_left() { outer_has_left_ = true; }
  /// When the last of those wants it; nullopt: none waits.
  std::optional<TimePoint> leave_by() const;
  /// Gives them `answer`. While others hold it: Released.
  void answer_leaving(const SessionEvent& answer);

  /// Renewed, Unrenewed and Lost are for every entry. After a final loss it only ends commands.
  void tell(const SessionEvent& event);

  void add_interest(std::vector<pollfd>& fds) const;
  std::optional<TimePoint> wake_at() const;
  /// When a command is to be ended that has not ended by itself; nullopt: never.
  std::optional<TimePoint> act_at() const;
  /// Hears what they say, and does what is due.
  void step();

 private:
  struct Entry {
    explicit Entry(UniqueFd socket) : foreign(foreign_run(socket)), link(std::move(socket)) {}

    pid_t foreign;  ///< hold_socket.h
    SupervisorLink link;
    std::optional<LockSpec> spec;  ///< once it has entered
    bool leaves = false;           ///< waits for the answer to its release
    std::optional<WatchedCommand> command;
    UniqueFd watched;                      ///< --watch-pid
    TimePoint kept_until{};                ///< --at-least
    std::optional<TimePoint> end_command;  ///< after a loss or a revocation: when it has had the time for it
    std::optional<Orphans> orphans;        ///< its command is being ended
  };

  bool is_over() const { return lost_ && lost_->final; }
  bool is_left(Entry& entry, TimePoint now);
  bool admit(Entry& entry, TimePoint now);
  static bool may_end(const Entry& entry, const UniqueFd& guard);
  bool goes_on(Entry& entry, TimePoint now);
  void detach(Entry& entry, const SupervisorLink::Detach& spec, TimePoint now);
  bool is_kept(const Entry& entry, TimePoint now) const;
  void tell(Entry& entry, const Lost& lost, TimePoint now);
  std::optional<TimePoint> kills_at() const;
  std::optional<TimePoint> act_at(const Entry& entry) const;

  Processes& processes_;
  Clock& clock_;
  const LockSpec& spec_;
  const std::optional<WatchedCommand>& outer_;
  UniqueFd listener_;
  Granted hold_;
  Duration lease_{0};
  bool outer_has_left_ = false;
  std::optional<Lost> lost_;
  std::list<Entry> entries_;
};

}  // namespace dlock
