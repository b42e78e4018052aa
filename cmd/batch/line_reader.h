// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

/// Lines from a descriptor, in memory that does not grow with their number or length; the last one may lack its end.
/// Does not wait by itself: poll the descriptor before fill(). Owns nothing.
class LineReader {
 public:
  /// A longer line is told of and left out.
  static constexpr std::size_t kLongest = 4096;

  explicit LineReader(int fd) : fd_(fd) {}

  struct Line {
    enum class Kind { kWhole, kTooLong };
    Kind kind = Kind::kWhole;
    std::uint64_t number = 0;  ///< from 1 on
    std::string_view text;     ///< without its end, LF or CR LF; until the next call. Empty if it was too long
  };
  /// The next line of what was read. nullopt: fill() first, unless it is the end.
  std::optional<Line> next();

  /// One read(2). False: it fails (errno).
  bool fill();
  /// The input has ended, and next() has given all.
  bool is_over() const { return ended_ && begin_ == buffer_.size() && !too_long_; }
  std::uint64_t lines() const { return number_; }  ///< that next() has given

 private:
  const int fd_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of what next() has not given
  std::uint64_t number_ = 0;
  bool too_long_ = false;  ///< in the midst of a line that is
  bool ended_ = false;
};

}  // namespace dlock
