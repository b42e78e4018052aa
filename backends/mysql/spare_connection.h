// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/mysql/database.h"

namespace dlock::mysql {

/// Keeps the last connection that was given back in order, for whoever dials the same next: a process that takes one
/// lock after the other connects once. Given back, its named locks are free at once, as if it had ended; only the
/// server still sees a client. Not for connections that leave a transaction or variables behind. Single-threaded;
/// outlives what was dialled.
class SpareConnection {
 public:
  explicit SpareConnection(Dial dial) : dial_(std::move(dial)) {}

  std::unique_ptr<Database> dial(const DatabaseSettings& settings);

 private:
  class Lent;

  const Dial dial_;
  DatabaseSettings settings_;
  std::unique_ptr<Database> database_;
  bool frees_ = false;  ///< the end of its named locks is under way
};

}  // namespace dlock::mysql
