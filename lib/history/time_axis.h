// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/base/time.h"

namespace dlock {

/// A stretch of time and its round points. Pure.
class TimeAxis {
 public:
  struct Tick {
    WallTime at;
    std::string label;  ///< "03:05", "03:05:30", "Feb 3"; counted from the beginning: "1.5 s", "2 min", "3 h 5 min"
  };

  /// Empty or backward stretches become a second long. `zone` is what the labels are ahead of UTC; `from_zero` counts
  /// from the beginning instead.
  TimeAxis(WallTime from, WallTime to, std::chrono::seconds zone, bool from_zero);

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
  bool from_zero_;
};

}  // namespace dlock
