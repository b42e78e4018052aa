// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/history/event.h"

namespace dlock {

/// One attempt to take one lock, from the request to its end, as far as events show.
struct Episode {
  enum class End {
    kWaiting,      ///< the wait is the last thing that is known
    kHeld,         ///< the grant is the last thing that is known
    kUnseen,       ///< it has ended unrecorded, before `ended`, when the lock was granted to another owner
    kReleased,     ///< by its holder
    kExpired,      ///< a lease that was not renewed
    kLost,         ///< at `lost_at`: `why`; the command went on until `ended`
    kBusy,         ///< given up, because `holder` had it
    kWithdrawn,    ///< given up, because of `signal`
    kUnavailable,  ///< `why`
    kRefused,      ///< `why`
    kUnlocked,     ///< the command ran without the lock
  };
  struct Sent {
    WallTime at{};
    int signal = 0;
  };
  End end = End::kWaiting;
  std::string key = {};
  std::string store = {};
  Participant who = {};  ///< with owner, token, mode and reason
  WallTime asked{};
  std::optional<WallTime> granted = {};
  std::optional<WallTime> lost_at = {};
  std::optional<WallTime> ended = {};
  std::optional<Duration> waited = {};
  std::optional<WallTime> kept = {};  ///< --at-least: after `ended` until then
  std::optional<Duration> held = {};  ///< until it was released or lost
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::string outcome = {};
  std::string why = {};
  std::optional<Participant> holder = {};
  std::vector<Sent> signals = {};  ///< to the command

  WallTime begin() const { return granted.value_or(asked); }
};

/// Sums of one lock: how often, and for how long. The percentiles are nearest ranks, of grants and of holds
/// that have ended.
struct Totals {
  std::size_t grants = 0;
  std::size_t busy = 0;
  std::size_t lost = 0;
  std::optional<WallTime> last_lost = {};
  std::optional<WallTime> last_success = {};  ///< the end of the last command that ended by itself, with 0
  std::optional<int> last_exit = {};          ///< of the command that ended last; 128 and more: its signal
  std::optional<WallTime> last_ended = {};    ///< that command's end
  std::vector<Duration> waits = {};           ///< of all grants, sorted
  std::vector<Duration> holds = {};           ///< that have ended, sorted
  Episode longest = {};                       ///< the longest hold; without a `granted`: there is none
};

/// The smallest of `sorted` that `percent` percent of all do not exceed (nearest rank); nullopt if that is empty.
std::optional<Duration> percentile(const std::vector<Duration>& sorted, int percent);

/// Makes episodes of events, in the order in which they were written. Pure.
class History {
 public:
  /// Adds the event in a line of an events file; counts a line that is none (foreign(), torn()).
  void add_line(std::string_view line);
  void add(const Event& event);

  /// Called once after the last event: ends the leases that are over at `now`.
  void finish(WallTime now);

  const std::vector<Episode>& episodes() const {
    return episodes_;
  }                                                         ///< in the order of their grants, else of their requests
  std::size_t foreign() const { return foreign_; }          ///< the number of lines that are no events of dlock
  std::size_t torn() const { return torn_; }                ///< the number of lines that are only a piece of an event
  std::size_t clock_steps() const { return clock_steps_; }  ///< how often a host's time went back

 private:
  Episode& open_wait(const Event& event);
  Episode& open_hold(const Event& event);
  void granted(const Event& event);
  void renewed(const Event& event);
  void note_lease(const Event& event);
  void lost(const Event& event);
  void signalled(const Event& event);
  bool forgets_slot(const Event& event) const;
  void released(const Event& event);
  void command_ended(const Event& event);
  void give_up(const Event& event, Episode::End end);
  void force_released(const Event& event);
  void note_clock(const Event& event);
  void settle_leases(WallTime now);
  void settle_unseen_ends();

  std::vector<Episode> episodes_;
  std::map<std::string, std::size_t> waits_;  ///< by host, pid and key: the episode
  std::map<std::string, std::size_t> holds_;  ///< by owner and key
  std::map<std::string, WallTime> leases_;    ///< by owner and key: when the lease ends
  std::map<std::string, WallTime> clocks_;    ///< by host: the time of its last event
  std::size_t foreign_ = 0;
  std::size_t torn_ = 0;
  std::size_t clock_steps_ = 0;
};

/// Names a lock: the same key in two stores is two locks.
struct LockId {
  std::string key;
  std::string store;
  auto operator<=>(const LockId&) const = default;
};
using AllTotals = std::map<LockId, Totals>;

AllTotals totals_of(const std::vector<Episode>& episodes);

}  // namespace dlock
