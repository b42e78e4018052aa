// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/stock/stock.h"

namespace dlock {

/// Lines from a descriptor, in memory that does not grow with their number or length; the last one may lack its end.
/// Does not wait by itself: poll the descriptor before fill(). Owns nothing.
class LineReader {
 public:
  /// A longer line is reported (Line::text is empty) and skipped.
  static constexpr std::size_t kLongest = 4096;

  explicit LineReader(int fd) : fd_(fd) {}

  struct Line {
    enum class Kind { kWhole, kTooLong };
    Kind kind = Kind::kWhole;
    std::uint64_t number = 0;  ///< from 1 on
    std::string_view text;     ///< without its end, LF or CR LF; until the next call. Empty if it was too long
  };
  /// The next line of the bytes that were read. nullopt: none is complete; call fill(), unless the input has ended.
  std::optional<Line> next();

  /// One read(2). False: it fails (errno).
  bool fill();
  /// Whether the input has ended and next() has returned all lines.
  bool is_over() const { return ended_ && begin_ == buffer_.size() && !too_long_; }
  std::uint64_t lines() const { return number_; }  ///< how many next() has returned

 private:
  const int fd_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< where the bytes begin that next() has not returned
  std::uint64_t number_ = 0;
  bool too_long_ = false;  ///< the bytes belong to a line that is too long
  bool ended_ = false;
};

/// `dlock stock batch`: returns the exit status. The input is served in blocks of at most 256 lines; the answers of a
/// block are written before the next one is read. The same input again finds by its ids what the store has done.
int batch_command(const Options& options, Stock& stock, const Runtime& runtime, Output& out);

}  // namespace dlock
