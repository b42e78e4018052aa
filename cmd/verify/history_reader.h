// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cmd/verify/chronicle.h"
#include "lib/base/unique_fd.h"

namespace dlock {

/// A history that is still being written.
class HistoryReader {
 public:
  explicit HistoryReader(const std::string& path);
  /// Adds the whole lines that have come since the last call.
  void read_into(Chronicle& chronicle);

 private:
  UniqueFd file_;
  std::string rest_;  ///< the beginning of a line
};

}  // namespace dlock
