// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/time.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/holder.h"

namespace dlock {

/// One line of a history: who did what, and when. Every writer has opened the same file with O_APPEND and writes a
/// line by one write(2), so that the order of the lines is the order of the acts.
///
///     NANOSECONDS WHO WHAT [WORD...]       NANOSECONDS: of this machine's CLOCK_BOOTTIME
struct Act {
  enum class What {
    kAsk,     ///< a run was started: KEY exclusive|shared|permits fair|any [LEASE in ms]
    kQueued,  ///< it said that it waits, and at which place if it came for one
    kBegin,   ///< its command runs: TOKEN SLOT, each "-" if there is none
    kTick,    ///< the command still runs
    kTerm,    ///< it was asked to end, and goes on
    kEnd,     ///< the command has done its work
    kGone,    ///< the run has ended: exit N|signal N [MESSAGE]
    kHit,     ///< a fault begins for it: the name of the fault
    kHealed,  ///< that fault is over
  };
  TimePoint at{};
  std::string who;  ///< "x.3.12": key, worker, round; "hook": a fault that everybody has
  What what = What::kTick;
  std::string words;  ///< the rest of the line
};

/// `line` has no newline. nullopt if it is no line of a history, or only a piece of one.
std::optional<Act> parse_act(std::string_view line);

/// The line for a history, with its newline. Control characters in `words` become blanks.
std::string act_line(const Act& act);

/// A fault that one run had, or that all had (an outage).
struct Trouble {
  std::string what;  ///< "kill-keeper", "hook fault-1"
  TimePoint from{};
  std::optional<TimePoint> until = {};  ///< nullopt: not over yet
};

/// One run that asks for a lock, and what it does under it. A time that is not set has not come yet.
struct Section {
  std::string name;  ///< Act::who
  std::string key = {};
  Mode mode = Mode::kExclusive;
  bool fair = false;
  std::optional<Duration> lease = {};
  TimePoint asked{};
  std::optional<TimePoint> queued = {};
  std::optional<TimePoint> begun = {};
  int begins = 0;  ///< more than one: its command was started again
  std::optional<TimePoint> ended = {};
  std::optional<TimePoint> gone = {};
  TimePoint last{};  ///< its last act under the lock
  std::size_t asked_line = 0;
  std::size_t first_line = 0;  ///< of its acts under the lock
  std::size_t last_line = 0;
  std::optional<std::uint64_t> token = {};
  std::string slot = {};
  std::string how = {};  ///< how the run ended: "exit 79 LOST ..."
  std::vector<Trouble> hits = {};

  bool holds() const { return begun && !ended && !gone; }
  bool waits() const { return !begun && !gone; }
};

/// A history, read line by line: the sections and outages that it tells of. Lines that are not of a history, or only a
/// piece of one, are counted.
class VerifyHistory {
 public:
  void add_line(std::string_view line);

  const std::vector<Section>& sections() const { return sections_; }
  const Section* find(const std::string& name) const;
  const std::vector<Trouble>& outages() const { return outages_; }  ///< of the server: the calls of the hook
  std::size_t lines() const { return lines_; }
  std::size_t torn() const { return torn_; }

 private:
  void add(const Act& act);

  std::vector<Section> sections_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<Trouble> outages_;
  std::size_t lines_ = 0;
  std::size_t torn_ = 0;
};

/// Reads the file of a history while others still write to it.
class HistoryReader {
 public:
  explicit HistoryReader(const std::string& path);
  /// Adds the lines that were completed since the last call. Does not wait for more.
  void read_into(VerifyHistory& history);

 private:
  UniqueFd file_;
  std::string rest_;  ///< the beginning of a line
};

}  // namespace dlock
