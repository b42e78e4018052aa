// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"

namespace dlock {

/// A stretch of time and its round points. Pure.
class TimeAxis {
 public:
  struct Tick {
    WallTime at;
    std::string label;  ///< "03:05", "03:05:30", "Feb 3"
  };

  /// Empty or backward stretches become a second long. `zone` is what the labels are ahead of UTC.
  TimeAxis(WallTime from, WallTime to, std::chrono::seconds zone);

  /// Where `at` is: 0 at the beginning, 1 at the end, never beyond.
  double place(WallTime at) const;

  /// Is any of this stretch on the axis?
  bool shows(WallTime from, WallTime to) const { return to >= from_ && from <= to_; }

  /// At round times, `most` of them and one more at most.
  std::vector<Tick> ticks(double most) const;

 private:
  std::string label(WallTime at, std::chrono::microseconds step) const;

  WallTime from_;
  WallTime to_;
  std::chrono::seconds zone_;
};

/// Something that lasts, in one lane.
struct Span {
  enum class Kind {
    kWait,  ///< light: asks for the lock
    kHold,  ///< dark: has it
    kLost,  ///< red: goes on without it
    kKept,  ///< between light and dark: has it, and nothing runs under it any more
  };
  Kind kind = Kind::kHold;
  WallTime from{};
  WallTime to{};
  bool open = false;        ///< its end is unknown: drawn to `to` with a dashed end
  std::string label = {};   ///< a few words, where there is room for them: "waits 3 s"
  std::string detail = {};  ///< shown under the pointer
};

/// Something that happens at one moment, in one lane: a line across it with its word.
struct Mark {
  WallTime at{};
  std::string label = {};  ///< "KILL"
  bool bad = true;         ///< red; else grey
};

/// One holder.
struct Lane {
  std::string label;
  std::vector<Span> spans = {};
  std::vector<Mark> marks = {};
};

/// Lanes that belong together, under one heading: those of one lock.
struct LaneGroup {
  std::string heading = {};
  std::vector<Lane> lanes = {};
};

struct Timeline {
  std::string title = {};
  std::string subtitle = {};
  std::vector<LaneGroup> groups = {};
  /// The span that is drawn; longer parts are cut. nullopt: from the first to the last thing there is.
  std::optional<WallTime> from = {};
  std::optional<WallTime> to = {};
  std::chrono::seconds zone_offset{};  ///< of the times on the axis, from UTC
};

/// The picture: one SVG document without references to anything outside, for white and for dark pages. Pure.
std::string timeline_svg(const Timeline& timeline);

}  // namespace dlock
