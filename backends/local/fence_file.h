// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/local/local_context.h"
#include "lib/lock/fencing_token.h"
#include "lib/lock/lock_name.h"
#include "lib/lock/lock_spec.h"

namespace dlock::local {

/// What a fence file remembers, twice: one slot is written while the other one still counts, so that a crash at any
/// moment leaves the older or the newer token, never none.
struct FenceSlot {
  std::uint64_t token = 0;
  std::uint64_t generation = 0;  ///< the slot with the higher one counts
  std::uint32_t key_size = 0;
  std::uint32_t spare = 0;
  char key[256] = {};
  std::uint64_t spare_too = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(FenceSlot) == 296);
constexpr std::int64_t kFenceSlotDistance = 4096;  ///< a block of their own each

void seal(FenceSlot& slot);
bool sound(const FenceSlot& slot);

/// The slot that counts, 0 or 1; nullopt if neither is sound.
std::optional<int> current_slot(const FenceSlot (&slots)[2]);

/// Backend::fence() of this machine: one file per resource in <directory>/fence, synced to disk before the answer.
/// Waits in `wait`'s limits for another check of the same resource; blocks meanwhile.
Result<UniqueFd> fence(LocalContext& context, const LockName& resource, FencingToken token, const WaitPolicy& wait);

}  // namespace dlock::local
