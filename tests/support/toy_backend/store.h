// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/lock/holder.h"

namespace dlock::toy {

std::int64_t us_of(WallTime time);

/// What the file of a lock says: "OWNER TOKEN UNTIL_US" of its holder, or "- TOKEN 0" once it is free.
struct Entry {
  std::string owner = "-";
  std::uint64_t token = 0;
  std::int64_t until_us = 0;

  bool is_held(WallTime now) const;
};

/// One file a lock, read and written under flock(2).
class ToyStore {
 public:
  explicit ToyStore(std::string directory) : directory_(std::move(directory)) {}

  /// Calls `change` with what is there, and writes it back if it says true.
  Result<bool> change(const LockName& name, const std::function<bool(Entry&)>& change) const;
  Result<LockState> read_state(const LockName& name, const std::string& store, WallTime now) const;

 private:
  const std::string directory_;
};

}  // namespace dlock::toy
