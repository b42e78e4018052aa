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

/// One attempt to have one lock, from the question to its end, as far as events tell.
struct Episode {
  enum class End {
    kWaiting,      ///< nothing is known behind the wait
    kHeld,         ///< nothing is known behind the grant
    kUnseen,       ///< it ended before `ended`, when somebody else was granted the lock
    kReleased,     ///< by its holder
    kExpired,      ///< a lease that nobody renewed
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
  std::optional<Duration> held = {};  ///< until it was given back, or lost
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::string outcome = {};
  std::string why = {};
  std::optional<Participant> holder = {};
  std::vector<Sent> signals = {};  ///< to the command

  WallTime begin() const { return granted.value_or(asked); }
};

/// What happened to one lock: how often, and for how long. The percentiles are nearest ranks, of grants and of holds
/// that have ended.
struct Totals {
  std::size_t grants = 0;
  std::size_t busy = 0;
  std::size_t lost = 0;
  std::vector<Duration> waits = {};  ///< of all grants, sorted
  std::vector<Duration> holds = {};  ///< that have ended, sorted
  Episode longest = {};              ///< hold; no grant: there is none
};

/// The least of `sorted` that is not below `part` (0 to 1) of them; nullopt if there is none.
std::optional<Duration> percentile(const std::vector<Duration>& sorted, double part);

/// Makes episodes of events, in the order in which they were written. Pure.
class History {
 public:
  /// A line of a file of events. What is none is counted.
  void add_line(std::string_view line);
  void add(const Event& event);

  /// Everything is in. Leases whose time is over at `now` have ended.
  void finish(WallTime now);

  const std::vector<Episode>& episodes() const { return episodes_; }  ///< in the order of their grants, or questions
  std::size_t foreign() const { return foreign_; }                    ///< lines that are none of ours
  std::size_t torn() const { return torn_; }                          ///< pieces of events
  std::size_t clock_steps() const { return clock_steps_; }            ///< how often a host's time went back

 private:
  Episode& open_wait(const Event& event);
  Episode& open_hold(const Event& event);
  void give_up(const Event& event, Episode::End end);
  void force_released(const Event& event);
  void note_clock(const Event& event);
  void settle_leases(WallTime now);
  void settle_unseen_ends();

  std::vector<Episode> episodes_;
  std::map<std::string, std::size_t> waits_;  ///< by host, pid and key: the episode
  std::map<std::string, std::size_t> holds_;  ///< by owner and key
  std::map<std::string, WallTime> leases_;    ///< by owner and key: until
  std::map<std::string, WallTime> clocks_;    ///< by host: the last time seen
  std::size_t foreign_ = 0;
  std::size_t torn_ = 0;
  std::size_t clock_steps_ = 0;
};

/// A key means another lock in each store.
struct LockId {
  std::string key;
  std::string store;
  auto operator<=>(const LockId&) const = default;
};
using AllTotals = std::map<LockId, Totals>;

AllTotals totals_of(const std::vector<Episode>& episodes);

}  // namespace dlock
