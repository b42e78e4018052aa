// SPDX-License-Identifier: Apache-2.0
#include "backends/toy/admin.h"

namespace dlock::toy {

Result<ForceReleased> ToyAdmin::force_release(const LockName& name, const LockState& shown, const std::string& /*by*/) {
  if (shown.holders.empty()) return ForceReleased{};
  const auto freed = locks_.change(name, [&](Entry& entry) {
    if (entry.owner != shown.holders.front().owner) return false;
    entry.owner = "-";
    return true;
  });
  if (!freed) return freed.error();
  if (!*freed) return Error{ErrorCode::kConflict, name.text() + " has another holder by now", "look at it again"};
  return ForceReleased{shown.holders};
}

}  // namespace dlock::toy
