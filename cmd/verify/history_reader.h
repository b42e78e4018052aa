// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/verify/chronicle.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// Reads the file of a history while others still write to it.
class HistoryReader {
 public:
  /// A file that cannot be opened is read as an empty one.
  explicit HistoryReader(const std::string& path);
  /// Adds the lines that were completed since the last call. Does not wait for more.
  void read_into(Chronicle& chronicle);

 private:
  UniqueFd file_;
  std::string rest_;  ///< the beginning of a line
};

}  // namespace dlock
