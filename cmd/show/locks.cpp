// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/locks.h"

namespace dlock {

Result<std::vector<LockState>> look_at_locks(const Options& options, LockAdmin& backend) {
  if (options.keys.empty()) return backend.inspect_all();
  std::vector<LockState> states;
  for (const LockName& key : options.keys) {
    auto state = backend.inspect(key);
    if (!state) return state.error();
    states.push_back(std::move(*state));
  }
  return states;
}

}  // namespace dlock
