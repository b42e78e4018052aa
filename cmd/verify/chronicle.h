// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/verify/acts.h"
#include "lib/lock/holder.h"

namespace dlock {

/// Something that was done to one run, or to all of them.
struct Trouble {
  std::string what;  ///< "kill-keeper", "stall", "hook ..."
  TimePoint from{};
  std::optional<TimePoint> until = {};  ///< nullopt: not over yet
  bool of_server = false;               ///< meets everybody; else, of an outage, who goes through the proxy
};

/// One run that wants a lock, and what it did under it.
struct Section {
  std::string name;
  std::string key = {};
  Mode mode = Mode::kExclusive;
  bool fair = false;
  bool proxied = false;  ///< the faults of the network meet it
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
  std::string how = {};  ///< it went: "exit 79 LOST ..."
  std::vector<Trouble> hits = {};

  bool holds() const { return begun && !ended && !gone; }
  bool waits() const { return !begun && !gone; }
  bool was_hit(std::string_view what) const;
};

/// What a history tells, line by line. Foreign and torn lines are counted and left out.
class Chronicle {
 public:
  void add_line(std::string_view line);

  const std::vector<Section>& sections() const { return sections_; }
  const Section* find(const std::string& name) const;
  const std::vector<Trouble>& outages() const { return outages_; }  ///< of the network and of the server
  std::size_t lines() const { return acts_.size(); }
  std::size_t torn() const { return torn_; }
  /// The lines from number `from` to `to` in which one of `who` acts, and what was done to all: times count from the
  /// first one; ticks with nothing else in between are one line for each who ticks.
  std::vector<std::string> excerpt(const std::vector<std::string>& who, std::size_t from, std::size_t to) const;

 private:
  void add(const Act& act);
  void note_outage(const Act& act);

  std::vector<Act> acts_;
  std::vector<Section> sections_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<Trouble> outages_;
  std::size_t torn_ = 0;
};

}  // namespace dlock
